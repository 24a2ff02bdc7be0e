"""The classifier on disk: what is written is what is read, in PyTorch and in ONNX, and nothing is unpickled."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.registry import build_backbone

from scanmix_cli.cli.app import main
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.workflow import onnx_file
from scanmix_cli.workflow.classifier import Classifier, load_classifier, save_classifier
from scanmix_cli.workflow.views import MOST_VIEWS, views_of

CLASSES = ("01", "=cat", "ünï")
CPU = choose_compute("cpu")


def untrained(image_size: int = 32, stored_size: int = 32) -> Classifier:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = [ScanMixNet(build_backbone("small"), len(CLASSES)) for _ in range(2)]
    return Classifier(nets, "small", CLASSES, image_size, stored_size, (0.5, 0.4, 0.3), (0.2, 0.25, 0.3))


def some_images(count: int, size: int = 32) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, 3, size, size), dtype=np.uint8)


def normalised(images: np.ndarray, described: dict) -> np.ndarray:
    """As somebody does who has only model.json."""
    mean, std = (np.array(described[name], np.float32)[:, None, None] for name in ("mean", "std"))
    return ((images / np.float32(255) - mean) / std).astype(np.float32)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("run")
    assert save_classifier(run / "model", untrained()).problem is None
    return run


def test_onnx_and_pytorch_name_the_same_class_on_a_thousand_images(saved: Path) -> None:
    images = some_images(1000)
    wanted = load_classifier(saved).probabilities(images, CPU)
    described = json.loads((saved / "model/model.json").read_text(encoding="utf-8"))
    evaluator = ReferenceEvaluator(str(saved / "model/model.onnx"))
    parts = np.array_split(normalised(images, described), 7)  # batches of 142 and 143
    outputs = [evaluator.run(described["onnx"]["outputs"], {described["onnx"]["input"]: part}) for part in parts]
    logits, found = (np.concatenate(column) for column in zip(*outputs, strict=True))
    assert len(set(wanted.argmax(axis=1))) > 1
    assert np.array_equal(found.argmax(axis=1), wanted.argmax(axis=1))
    assert np.abs(found - wanted).max() < 1e-6
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    assert found == pytest.approx(exponentials / exponentials.sum(axis=1, keepdims=True), abs=1e-6)


def test_the_onnx_file_is_valid_and_carries_the_classes(saved: Path) -> None:
    model = onnx.load(str(saved / "model/model.onnx"))
    onnx.checker.check_model(model, full_check=True)
    (given,) = model.graph.input
    dimensions = [entry.dim_param or entry.dim_value for entry in given.type.tensor_type.shape.dim]
    assert dimensions == ["batch", 3, 32, 32]
    assert {entry.key: json.loads(entry.value) for entry in model.metadata_props} == {"classes": list(CLASSES)}
    described = json.loads((saved / "model/model.json").read_text(encoding="utf-8"))
    assert described["classes"] == list(CLASSES)
    assert 0 <= described["onnx"]["max_difference_from_pytorch"] < 1e-6


def test_what_is_loaded_is_what_was_saved(saved: Path) -> None:
    images = some_images(5)
    made, loaded = untrained(), load_classifier(saved)
    assert (loaded.classes, loaded.mean, loaded.std) == (CLASSES, made.mean, made.std)
    assert np.array_equal(loaded.probabilities(images, CPU), made.probabilities(images, CPU))
    assert loaded.features(images, CPU).shape == (5, 256)
    assert loaded.probabilities(images[:0], CPU).shape == (0, 3)


def test_the_embedding_that_networks_share_stands_in_the_onnx_file_once(tmp_path: Path) -> None:
    name = "still:timm:test_efficientnet"
    nets = [ScanMixNet(build_backbone(name), len(CLASSES)) for _ in range(2)]
    nets[1].backbone.embedding = nets[0].backbone.embedding
    classifier = replace(untrained(), nets=nets, backbone=name)
    note = save_classifier(tmp_path / "model", classifier)
    assert note.problem is None
    assert note.description is not None
    assert note.description["max_difference_from_pytorch"] < 1e-6
    nodes = [node.op_type for node in onnx.load(str(tmp_path / "model/model.onnx")).graph.node]
    convolutions = [module for module in nets[0].modules() if isinstance(module, torch.nn.Conv2d)]
    assert nodes.count("Conv") == len(convolutions)
    loaded = load_classifier(tmp_path)
    assert loaded.nets[0].backbone.embedding is loaded.nets[1].backbone.embedding
    images = some_images(5)
    assert loaded.probabilities(images, CPU).tolist() == classifier.probabilities(images, CPU).tolist()


def test_loading_never_unpickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_classifier(tmp_path / "model", untrained())

    class Bomb:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "exploded",))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("unpickled")

    for module, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(module, name, refuse)
    load_classifier(tmp_path)
    (tmp_path / "model/model.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DataError, match=r"^the classifier in .*model is damaged \("):
        load_classifier(tmp_path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (
            lambda patch: patch.setitem(__import__("sys").modules, "onnx", None),
            "since the package onnx is missing: `pip",
        ),
        (lambda patch: patch.setattr(onnx_file, "TOLERANCE", -1.0), "since its probabilities were "),
        (
            lambda patch: patch.setattr(torch.onnx, "export", lambda *_, **__: 1 / 0),
            "since this network cannot be exported",
        ),
    ],
)
def test_a_missing_onnx_file_is_a_line_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, break_it: object, reason: str
) -> None:
    save_classifier(tmp_path / "model", untrained())
    break_it(monkeypatch)  # type: ignore[operator]
    note = save_classifier(tmp_path / "model", untrained())
    assert note.problem is not None
    assert note.problem.startswith(f"model.onnx was not written, {reason}")
    assert "\n" not in note.problem
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    assert json.loads((tmp_path / "model/model.json").read_text())["onnx"] is None
    load_classifier(tmp_path)


def test_a_vit_is_exported_at_the_size_it_was_trained_at(tmp_path: Path) -> None:
    net = ScanMixNet(build_backbone("timm:test_vit"), 3)
    note = onnx_file.write_onnx(tmp_path, [net], 64, CLASSES)  # made for 160 pixels
    assert note.problem is None
    assert (tmp_path / onnx_file.MODEL).is_file()


class Unknown(torch.nn.Module):
    """A backbone with an operation that the exporter does not know."""

    features = 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(x, size=(9, 9), mode="bicubic", antialias=True).mean((2, 3))


def test_an_export_that_fails_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    note = onnx_file.write_onnx(tmp_path, [ScanMixNet(Unknown(), 3)], 32, CLASSES)
    assert note.problem is not None
    assert "_upsample_bicubic2d_aa" in note.problem
    assert capfd.readouterr().out == "", "--json has standard output for itself"


def test_a_run_without_the_package_onnx_says_how_to_get_the_file(
    squares: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(SystemExit) as stopped:
        main(["train", str(squares), "--out", "run", "--time-budget", "1s", "--device", "cpu", "--no-html", "-q"])
    assert stopped.value.code == 0
    said = [line for line in Path("run/log.txt").read_text(encoding="utf-8").splitlines() if "model.onnx" in line]
    assert len(said) == 1
    assert said[0].endswith("the package onnx is missing: `pip install onnx`, then `scanmix export --to onnx`")


def test_images_are_asked_for_in_parts() -> None:
    classifier, pixels, parts = untrained(), some_images(1000), []

    class Rows:
        def __len__(self) -> int:
            return len(pixels)

        def __getitem__(self, part: slice) -> np.ndarray:
            parts.append(part)
            return pixels[part]

    compute = choose_compute("cpu")
    assert np.array_equal(classifier.probabilities(Rows(), compute), classifier.probabilities(pixels, compute))
    assert max(part.stop - part.start for part in parts) < len(pixels)


def test_one_network_or_both() -> None:
    both, images = untrained(), some_images(4)
    logits = [np.log(both.network(name).probabilities(images, CPU)) for name in ("1", "2")]
    product = np.exp(logits[0] + logits[1])
    assert both.network("both").probabilities(images, CPU) == pytest.approx(
        product / product.sum(axis=1, keepdims=True), abs=1e-6
    )
    assert both.network("2").features(images, CPU).shape == (4, 128)
    with pytest.raises(SettingsError, match=r"^there is no network '3'; choose one of both, 1, 2$"):
        both.network("3")


def test_views_are_the_image_its_mirror_and_small_moves() -> None:
    batch = torch.arange(2 * 3 * 32 * 32, dtype=torch.float32).view(2, 3, 32, 32)
    views = views_of(batch, MOST_VIEWS)
    assert len(views) == MOST_VIEWS == len({view.numpy().tobytes() for view in views})
    assert all(view.shape == batch.shape for view in views)
    assert torch.equal(views[0], batch)
    assert torch.equal(views[1], batch.flip(-1))
    assert torch.equal(views[2][:, :, :-2], batch[:, :, 2:])  # two of 32 pixels up
    assert torch.equal(views[6][..., :-2], batch[..., 2:])  # to the left
    assert len(views_of(batch, 3)) == 3


def test_more_views_do_not_depend_on_the_company_and_see_a_mirror_image_alike() -> None:
    classifier, images = untrained(image_size=28), some_images(4)
    several = classifier.probabilities(images, CPU, views=5)
    assert classifier.probabilities(images[2:3], CPU, views=5) == pytest.approx(several[2:3], abs=1e-6)
    mirrored = np.ascontiguousarray(images[..., ::-1])
    assert classifier.probabilities(mirrored, CPU, views=2) == pytest.approx(
        classifier.probabilities(images, CPU, views=2), abs=1e-6
    )
    assert not np.allclose(several, classifier.probabilities(images, CPU), atol=1e-6)
