"""`model/model.onnx`: the ensemble for other runtimes, compared with PyTorch before it gets its name.

Input `images`: float32 (N, 3, S, S), RGB, normalised with the mean and std of model.json; N is free. Outputs:
`logits` and `probabilities` (their softmax), float32 (N, C); a runtime computes only what it is asked for.
"""

import copy
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from scanmix_cli.files import write_bytes
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.still import features_of

MODEL = "model.onnx"
INPUT, OUTPUTS = "images", ("logits", "probabilities")
OPSET = 18
TOLERANCE = 1e-3  # largest difference of a probability; other orders of summing give about 1e-6
HOW_TO_GET = "`pip install onnx`, then `scanmix export --to onnx`"


@dataclass(frozen=True)
class OnnxNote:
    """What model.json says of the file, None where there is none; `problem` says in one line why not."""

    description: dict[str, Any] | None
    problem: str | None = None


class _Ensemble(nn.Module):
    """(N, 3, S, S) -> logits and probabilities, each (N, C)."""

    def __init__(self, nets: list[ScanMixNet]) -> None:
        super().__init__()
        self.nets = nn.ModuleList(nets)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        logits = sum_of_logits(list(self.nets), images)  # type: ignore[arg-type]
        return logits, logits.softmax(1)


def sum_of_logits(nets: Sequence[ScanMixNet], batch: Tensor) -> Tensor:
    """float32 (N, C): the ensemble's logits."""
    features = features_of(nets, batch)
    return torch.stack([net.class_head(own).float() for net, own in zip(nets, features, strict=True)]).sum(0)


def write_onnx(folder: Path, nets: Sequence[ScanMixNet], size: int, classes: Sequence[str]) -> OnnxNote:
    """Write MODEL into `folder`; where that cannot be done, the note says why and an older file is removed."""
    (folder / MODEL).unlink(missing_ok=True)
    try:
        import onnx
    except ImportError:
        return OnnxNote(None, f"{MODEL} was not written, since the package onnx is missing: {HOW_TO_GET}")
    ensemble = _Ensemble(copy.deepcopy(list(nets))).cpu().float().eval()
    try:
        content = _exported(ensemble, size)
        model = onnx.load_from_string(content)
        onnx.helper.set_model_props(model, {"classes": json.dumps(list(classes))})
        content = model.SerializeToString()
        difference = _difference(ensemble, content, size)
    except Exception as error:  # an exporter that meets an operation it does not know can raise anything
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        return OnnxNote(None, f"{MODEL} was not written, since this network cannot be exported ({reason})")
    if difference > TOLERANCE:
        reason = f"its probabilities were {difference:.2g} off PyTorch's"
        return OnnxNote(None, f"{MODEL} was not written, since {reason}")
    write_bytes(folder / MODEL, content)
    return OnnxNote(
        {
            "input": INPUT,
            "outputs": list(OUTPUTS),
            "opset": OPSET,
            "max_difference_from_pytorch": float(f"{difference:.2g}"),
        }
    )


def _exported(ensemble: nn.Module, size: int) -> bytes:
    """By the exporter that traces: it needs one package less than the newer one and takes a tenth of its time."""
    stream = io.BytesIO()
    free = {name: {0: "batch"} for name in (INPUT, *OUTPUTS)}
    for part in ensemble.modules():
        if getattr(part, "dynamic_img_size", False):  # a ViT: position embeddings of this size now, not in the graph
            part.set_input_size(img_size=(size, size))  # type: ignore[operator]
    with warnings.catch_warnings(), _without_graph_dump():
        warnings.simplefilter("ignore")  # it warns of being the older one
        torch.onnx.export(
            ensemble,
            (torch.zeros(2, 3, size, size),),
            stream,  # type: ignore[arg-type]
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            dynamic_axes=free,
            opset_version=OPSET,
            dynamo=False,
        )
    return stream.getvalue()


@contextmanager
def _without_graph_dump() -> Iterator[None]:
    """Before the exporter raises, it prints the whole graph on standard output, asked to or not; not in here."""
    name = "_jit_onnx_log"
    printed = getattr(torch._C, name, None)
    setattr(torch._C, name, lambda *_: None)
    try:
        yield
    finally:
        if printed is None:
            delattr(torch._C, name)
        else:
            setattr(torch._C, name, printed)


def _difference(ensemble: nn.Module, content: bytes, size: int) -> float:
    """Largest difference of a probability on noise, in a batch of another size than the exported one.

    By onnx's own evaluator: slow, but it stays on this machine, where other runtimes count their users.
    """
    from onnx.reference import ReferenceEvaluator

    images = torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        wanted = ensemble(images)[1].numpy()
    (found,) = ReferenceEvaluator(content).run([OUTPUTS[1]], {INPUT: images.numpy()})
    return float(np.abs(np.asarray(found) - wanted).max())
