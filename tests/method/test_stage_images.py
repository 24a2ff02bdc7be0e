"""Random views of stored images by row number."""

import pytest
import torch
from toy_runs import toy_context, toy_images

from scanmix_cli.method.images import Augmentation, to_layout


@pytest.mark.parametrize("name", ["weak", "strong"])
def test_rows_given_together_get_the_views_they_would_get_one_after_another(name: str) -> None:
    images, context = toy_images(), toy_context()
    first, second = torch.arange(8), torch.arange(8, 12)
    together = Augmentation(images, name, context)(first, second)
    view, generator = images.view(name), toy_context().generator
    apart = [to_layout(view(images.pixels[rows], generator)) for rows in (first, second)]
    assert torch.equal(together, torch.cat(apart))
    assert together.is_contiguous(memory_format=torch.channels_last)
