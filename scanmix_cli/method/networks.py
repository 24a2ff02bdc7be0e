"""Building networks and optimisers from settings."""

from typing import TypeVar

import torch
from torch import Tensor, nn

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import seeded
from scanmix_cli.engine.parallel import divisible, world
from scanmix_cli.errors import RunError, SettingsError
from scanmix_cli.models.network import ContrastiveNet, ScanMixNet
from scanmix_cli.models.norm_sync import synchronise_norms
from scanmix_cli.models.registry import build_backbone

Net = TypeVar("Net", bound=nn.Module)


def contrastive_net(backbone: str, context: Context) -> ContrastiveNet:
    """A fresh encoder with its projection head, from the context's seed."""
    with seeded(context.seed):
        return placed(_shared(ContrastiveNet(_backbone(backbone))), context.device)


def scanmix_net(backbone: str, classes: int, context: Context, seed_offset: int = 0) -> ScanMixNet:
    """A fresh network with class and cluster head; another `seed_offset` gives other weights."""
    with seeded(context.seed + seed_offset):
        return placed(_shared(ScanMixNet(_backbone(backbone), classes)), context.device)


def load_backbone(net: ScanMixNet, encoder: ContrastiveNet) -> None:
    """Copy the backbone of a pre-trained encoder; every key must match."""
    net.backbone.load_state_dict(encoder.backbone.state_dict(), strict=True)


def sgd(
    parameters: list[nn.Parameter], rate: float, momentum: float, weight_decay: float, context: Context
) -> torch.optim.SGD:
    """SGD whose learning rate is a tensor on a GPU, so that recorded steps see it change."""
    on_gpu = context.device.type == "cuda"
    lr = torch.tensor(rate, device=context.device) if on_gpu else rate
    optimizer = torch.optim.SGD(parameters, lr=lr, momentum=momentum, weight_decay=weight_decay, fused=on_gpu or None)
    if on_gpu and momentum:
        # The fused step refuses a mixture of fresh and used parameters, which a head-only warm-up leaves behind.
        for parameter in parameters:
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimizer


def adam(parameters: list[nn.Parameter], rate: float, weight_decay: float, context: Context) -> torch.optim.Adam:
    """Adam, recordable on a GPU."""
    on_gpu = context.device.type == "cuda"
    return torch.optim.Adam(parameters, lr=rate, weight_decay=weight_decay, fused=on_gpu or None, capturable=on_gpu)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Change the learning rate in place; a recorded step reads the new value."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def fixed_order(rows: Tensor, batch_size: int) -> Tensor:
    """Row numbers (n,) cut into full batches, int64 (n // batch_size, batch_size); a short set makes one batch.

    The remainder is dropped, as everywhere in the method: a batch of one breaks batch norm. So is what processes that
    share the batch cannot divide.
    """
    batch_size = divisible(min(batch_size, len(rows)))
    count = len(rows) // batch_size if batch_size else 0
    if batch_size < 2:
        raise RunError("a stage was left with fewer than two images to train on; add images and run again")
    return rows[: count * batch_size].view(count, batch_size)


def _backbone(name: str) -> nn.Module:
    try:
        return build_backbone(name)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _shared(net: Net) -> Net:
    """The network itself, its batch norms seeing the batches of all processes."""
    if world() > 1:
        try:
            synchronise_norms(net)
        except ValueError as error:
            raise SettingsError(f"{error}; choose another --backbone") from None
    return net


def placed(net: Net, device: torch.device) -> Net:
    """The network itself, moved to a device in the layout that `images.to_layout` gives its inputs."""
    net.to(device)
    return net.to(memory_format=torch.channels_last)
