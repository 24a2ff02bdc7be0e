"""The image data beside the checkout, in the layouts that `unpack_data.py` writes: `cifar10`, `labels`, `cnwl`."""

import importlib.util
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_bench_run import TOY, Heard, cells_of, toy

from scanmix_cli.bench import runner, setup
from scanmix_cli.bench.datasets import load_dataset
from scanmix_cli.bench.injected import noisy_labels
from scanmix_cli.bench.request import BenchRequest
from scanmix_cli.cli.app import main

TOOL = Path(__file__).resolve().parents[3] / "shared" / "tools" / "unpack_data.py"
pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="needs the image data in ../shared, beside the checkout")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("unpack_data", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cifar10(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cifar10")
    tool.write_cifar10(root)
    tool.write_labels(root)
    return root


def test_cifar10_runs_and_says_that_its_images_are_not_the_canonical_ones(
    cifar10: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All images are read; the first 200 are trained on, and 50 test images measured."""

    def first(*arguments: Any) -> Any:
        data = load_dataset(*arguments)
        assert data.train_images is not None
        assert data.test_images is not None
        assert (data.train_images.shape, data.test_images.shape) == ((50_000, 3, 32, 32), (10_000, 3, 32, 32))
        train = {"train_images": data.train_images[:200], "train_labels": data.train_labels[:200]}
        return replace(data, **train, test_images=data.test_images[:50], test_labels=data.test_labels[:50])

    monkeypatch.setattr(setup, "load_dataset", first)
    monkeypatch.setattr(runner, "draw_all", lambda *_: [])
    asked = ["bench", "cifar10", "--noise", "sym", "--rate", "0.9", "--data-dir", str(cifar10), "--json"]
    with pytest.raises(SystemExit) as stop:
        main([*asked, "--methods", "cross-entropy", "--out", str(tmp_path), *TOY])
    assert not stop.value.code
    printed = json.loads(capsys.readouterr().out)["cells"]
    assert [(cell["method"], cell["images"]) for cell in printed] == [("cross-entropy", "non-canonical")]
    assert "- images: non-canonical; data fingerprint " in (tmp_path / "results.md").read_text()


@pytest.mark.parametrize(
    ("noise", "rate"),
    [
        ("human-aggre", 0.0901),
        ("human-rand1", 0.1723),
        ("human-worst", 0.4021),
        ("semantic-densenet", 0.3189),
        ("semantic-resnet", 0.3805),
        ("semantic-vgg", 0.3009),
        ("file:scanmix_sym90.npy", 0.8100),
    ],
)
def test_label_files_fit_the_images(cifar10: Path, noise: str, rate: float) -> None:
    clean = np.load(cifar10 / "train_clean.npy")
    named = noise.replace("file:", f"file:{cifar10}/")
    asked = BenchRequest("cifar10", cifar10 / "out", cifar10, noise=named)
    given = noisy_labels(asked, [str(k) for k in range(10)], clean, None, seed=0)
    assert np.mean(given.labels != clean) == pytest.approx(rate, abs=1e-4)


def test_the_controlled_noisy_web_labels_layout_drives_mini_imagenet(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every 50th image: 1,000 of training and 100 of validation, all 100 classes."""
    every = tool.samples
    monkeypatch.setattr(tool, "samples", lambda name, split: islice(every(name, split), 0, None, 50))
    tool.write_cnwl(tmp_path, 0.4)
    monkeypatch.setattr(runner, "draw_all", lambda *_: [])
    heard = Heard()
    asked = BenchRequest("red-mini-imagenet", tmp_path / "out", tmp_path, methods=("cross-entropy",), **toy())
    runner.run_bench(asked, heard)
    (cell,) = cells_of(tmp_path / "out")
    assert (cell["dataset"], cell["noise"], cell["rate"]) == ("blue-mini-imagenet", "blue", 0.4)
    assert (cell["train_images"], cell["test_images"]) == (1_000, 100)
    assert cell["last"] is not None
    assert any(text.startswith("images: non-canonical (no published checksums)") for text in heard.texts)
