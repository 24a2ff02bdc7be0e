"""Outside weights for a backbone: key names of other tools, matched strictly."""

import re
from collections.abc import Mapping

from torch import Tensor, nn

_WRAPPERS = ("state_dict", "model", "model_state_dict")
# scanmix's own model files, other tools' wrappers, the query encoder of MoCo's checkpoints
_PREFIXES = (
    *("net1.backbone.body.", "net1.backbone.", "body."),
    *("module.encoder_q.", "encoder_q.", "backbone.", "module.", "model.", ""),
)
_CLASSIFIERS = ("fc", "classifier", "classif", "head", "heads", "head_dist", "last_linear")
_PROJECTIONS = ("contrastive_head", "class_head", "cluster_head")
_COUNTER = "num_batches_tracked"  # missing in old files and without meaning for the output
_OWN_PREFIX = "body."  # of `TimmBackbone`


def load_weights(backbone: nn.Module, content: Mapping, name: str) -> None:
    """Write the tensors of a weights file into a backbone called `name`; every one of them must be there and fit.

    `content` is a state dict, or a dict that holds one under "state_dict" or "model". A classifier's tensors are left
    out, since a backbone has none. Raises ValueError that says what did not match.
    """
    own = {key.removeprefix(_OWN_PREFIX): key for key in backbone.state_dict()}
    given = _stripped(_lite_names(_tensors(content)), own.keys())
    shapes = {key: tuple(value.shape) for key, value in backbone.state_dict().items()}
    missing = [key for key in own if key not in given and not key.endswith(_COUNTER)]
    unknown = [key for key in given if key not in own and key.split(".")[0] not in (*_CLASSIFIERS, *_PROJECTIONS)]
    other = [key for key in own if key in given and tuple(given[key].shape) != shapes[own[key]]]
    if missing or unknown or other:
        parts = [
            f"{len(missing)} of its {len(own)} tensors are missing (first: {missing[0]})" if missing else "",
            f"{len(unknown)} tensors of the file are unknown to it (first: {unknown[0]})" if unknown else "",
            f"{len(other)} have another shape (first: {other[0]})" if other else "",
        ]
        raise ValueError(f"the weights do not fit {name}: {', '.join(part for part in parts if part)}")
    backbone.load_state_dict({own[key]: value for key, value in given.items() if key in own}, strict=False)


def _tensors(content: Mapping) -> dict[str, Tensor]:
    for wrapper in _WRAPPERS:
        if isinstance(content.get(wrapper), Mapping):
            return _tensors(content[wrapper])
    return {str(key): value for key, value in content.items() if isinstance(value, Tensor)}


def _stripped(given: dict[str, Tensor], own: object) -> dict[str, Tensor]:
    """`given` below the prefix under which most of its keys are `own` ones."""
    below = [
        {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
        for prefix in _PREFIXES
    ]
    return max(below, key=lambda keys: len(keys.keys() & own))  # type: ignore[operator]


_LITE_STAGES = (1, 2, 2, 3, 3, 4, 1)  # blocks a stage of EfficientNet-Lite0, as timm groups them
_LITE_OUTER = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier"}
_LITE_FIRST = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
_LITE_INNER = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}


def _lite_names(given: dict[str, Tensor]) -> dict[str, Tensor]:
    """EfficientNet-Lite0 by timm's names, where the file has those of the efficientnet-lite-pytorch package."""
    if "_conv_stem.weight" not in given:
        return given
    places = [f"blocks.{stage}.{k}" for stage, count in enumerate(_LITE_STAGES) for k in range(count)]
    renamed = {}
    for key, value in given.items():
        if match := re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", key):
            block = int(match[1])
            inner = _LITE_INNER if block else _LITE_FIRST
            if block < len(places) and match[2] in inner:
                key = f"{places[block]}.{inner[match[2]]}.{match[3]}"
        else:
            outer, _, rest = key.partition(".")
            key = f"{_LITE_OUTER.get(outer, outer)}.{rest}"
        renamed[key] = value
    return renamed
