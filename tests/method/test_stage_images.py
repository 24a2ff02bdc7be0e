"""Random views of images in a step."""

from dataclasses import replace

import pytest
import torch
from toy_runs import toy_context, toy_images

from scanmix_cli.engine.context import Context
from scanmix_cli.method import images
from scanmix_cli.method.images import Augmentation, forward_all, to_layout


@pytest.mark.parametrize("name", ["weak", "strong"])
def test_rows_given_together_get_the_views_they_would_get_one_after_another(name: str) -> None:
    pictures, context = toy_images(), toy_context()
    first, second = torch.arange(8), torch.arange(8, 12)
    together = Augmentation(pictures, name, context)(pictures.pixels[first], pictures.pixels[second])
    view, generator = pictures.view(name), toy_context().generator
    apart = [to_layout(view(pictures.pixels[rows], generator)) for rows in (first, second)]
    assert torch.equal(together, torch.cat(apart))
    assert together.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("name", "count", "compiled"),
    [("strong", 20, True), ("simclr", 20, True), ("weak", 20, False), ("strong", 19, False)],
)
def test_long_views_are_compiled_for_many_images(
    name: str, count: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "COMPILED_FROM", 20)
    monkeypatch.setattr(Context, "compiled", lambda self, function: "compiled")
    assert (Augmentation(toy_images(count), name, toy_context()).apply == "compiled") is compiled


def test_pixels_are_let_go_of_once_all_have_been_looked_at() -> None:
    seen: list[str] = []
    looked_at = replace(toy_images(), let_go=lambda: seen.append("let go"))

    def outputs(batch: torch.Tensor) -> torch.Tensor:
        seen.append("batch")
        return batch.flatten(1)

    forward_all(outputs, torch.nn.Identity(), looked_at.subset(torch.arange(4)), toy_context())
    assert seen == ["batch", "let go"]
