"""The published rows for WebVision and Clothing1M, all stages, on tiny trees in the published layouts."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from toy_sets import write_clothing1m, write_webvision

from scanmix_cli.bench import protocol
from scanmix_cli.cli.app import main
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import PAPER

ROOT = Path(__file__).resolve().parents[2]
TREES: dict[str, Callable[[Path], Path]] = {"webvision": write_webvision, "clothing1m": write_clothing1m}
STAGES = {"moco", "neighbors", "scan", "warmup", "scanmix"}


def quick(profile: Profile) -> Profile:
    """The row of the paper with all that makes it that row, but a small network, small pictures and small batches."""
    assert profile.contrastive is not None
    assert profile.scan is not None
    assert profile.clustering is not None
    return replace(
        profile,
        backbone="small",
        image_size=24,
        stored_size=28,
        contrastive=replace(profile.contrastive, batch_size=8, queue_size=16, max_images=12),
        neighbors=replace(profile.neighbors, count=4),
        scan=replace(profile.scan, batch_size=8),
        warmup=replace(profile.warmup, batch_size=8),
        mixmatch=replace(
            profile.mixmatch,
            batch_size=4,
            steps=min(profile.mixmatch.steps, 2),
            epoch_images=min(profile.mixmatch.epoch_images, 16),
        ),
        clustering=replace(profile.clustering, batch_size=8),
    )


@pytest.mark.parametrize(
    ("name", "profile", "rows"), [("webvision", "official", OFFICIAL), ("clothing1m", "paper", PAPER)]
)
def test_every_stage_of_the_published_row_runs(
    name: str, profile: str, rows: dict[str, Profile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = TREES[name](tmp_path / "data"), tmp_path / "out"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(protocol.PUBLISHED_PROFILES, profile, {name: quick(rows[name])})
    schedule = ["--epochs", "1", "--pretrain-epochs", "1", "--methods", "scanmix", "--device", "cpu", "-q"]
    with pytest.raises(SystemExit) as ended:
        main(["bench", name, "--profile", profile, "--data-dir", str(root), "--out", str(out), *schedule])
    assert ended.value.code == 0
    (cell,) = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert cell["seconds"].keys() >= STAGES
    assert 0 <= cell["last"] <= 1
    assert cell["auroc"] is None, "nobody knows which labels are wrong"
    assert cell["noise_rate_estimate"] >= 0


BLOCKS = re.findall(r"```bash\n(.*?)\n```", (ROOT / "docs" / "bench.md").read_text(encoding="utf-8"), re.DOTALL)
SMALL = "[run]\nprofile = '{}'\n[profile.scan]\nepochs = 1\n[profile.mixmatch]\nsteps = 2\n"


@pytest.mark.parametrize(("name", "block"), list(zip(TREES, BLOCKS, strict=True)), ids=list(TREES))
def test_the_lines_of_the_document_make_a_run_of_the_published_layout(
    name: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *tables, command = block.splitlines()
    assert command == f"scanmix train train.csv --test test.csv --profile {name} --gpus 4"
    monkeypatch.chdir(TREES[name](tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    subprocess.run(["bash", "-ec", "\n".join(tables)], check=True)
    Path("small.toml").write_text(SMALL.format(name), encoding="utf-8")
    own = ["--config", "small.toml", "--backbone", "small", "--image-size", "24", "--batch-size", "8", "--epochs", "1"]
    own += ["--pretrain-epochs", "1", "--device", "cpu", "--no-html", "-q"]
    with pytest.raises(SystemExit) as ended:
        main([*command.split()[1:5], *own, "--out", "run"])
    assert ended.value.code == 0
    summary = json.loads(Path("run/summary.json").read_text(encoding="utf-8"))
    assert summary["seconds"].keys() >= STAGES
    assert (summary["counts"]["train"], summary["counts"]["held_out"]) == (20, 4)
    assert summary["profile"] == "paper"
