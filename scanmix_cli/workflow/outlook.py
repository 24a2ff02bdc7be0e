"""The plan of a run in words."""

import torch

from scanmix_cli.data.wording import counted
from scanmix_cli.workflow.plan import Plan


def describe_plan(plan: Plan) -> str:
    """The line that says what was chosen, why, and how long it will take."""
    profile = plan.profile
    stages = ", ".join(
        f"{name} {epochs}"
        for name, epochs in (
            (profile.contrastive.objective, profile.contrastive.epochs) if profile.contrastive else ("", 0),
            ("scan", profile.scan.epochs if profile.scan and not profile.beliefs else 0),
            ("warm-up", 0 if profile.beliefs else profile.warmup.epochs),
            ("scanmix", profile.loop_epochs),
        )
        if epochs
    )
    return (
        f"profile {profile.name}: {profile.backbone} at {profile.image_size} pixels, epochs {stages} "
        f"({plan.reason}); about {duration(plan.total)}"
    )


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def device_name(device: torch.device) -> str:
    """`NVIDIA H100 80GB HBM3` or `cpu, 2 threads`."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"cpu, {counted(torch.get_num_threads(), 'thread')}" if device.type == "cpu" else device.type
