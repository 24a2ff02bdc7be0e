"""The views as their users call them."""

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torchvision.transforms import functional as reference

from scanmix_cli.augment.names import ViewName
from scanmix_cli.augment.pipelines import RECIPES, View, build_view
from scanmix_cli.errors import SettingsError

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
NAMES = list(RECIPES)
RANDOM = [name for name in NAMES if name not in ("test", "mirrored")]


def view(name: ViewName, size: int = 32) -> View:
    return build_view(name, size, MEAN, STD)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normalized(value: float) -> Tensor:
    return (value / 255 - torch.tensor(MEAN)) / torch.tensor(STD)


@pytest.mark.parametrize("name", RANDOM)
def test_same_seed_same_result_and_images_differ(name: str, pictures: Tensor) -> None:
    images = pictures[:1].expand(8, 3, 32, 32)
    first, second = view(name)(images, seeded()), view(name)(images, seeded())
    assert torch.equal(first, second)
    assert not torch.equal(first, view(name)(images, seeded(1)))
    if name != "weak-web":  # at 32 of 32 pixels only a flip is left
        assert len(torch.unique(first.flatten(1), dim=0)) >= 7


@pytest.mark.parametrize("name", NAMES)
def test_input_is_left_alone(name: str, pictures: Tensor) -> None:
    images = pictures.clone()
    view(name)(images, seeded())
    assert torch.equal(images, pictures)


@given(
    name=st.sampled_from(NAMES),
    batch=st.integers(0, 5),
    size=st.integers(3, 40),
    extra=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_any_size_and_batch(name: str, batch: int, size: int, extra: tuple[int, int], seed: int) -> None:
    """Right shape and type, finite, and no value outside black .. white, but for cutout's 0."""
    generator = seeded(seed)
    shape = (batch, 3, size + extra[0], size + extra[1])
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    result = view(name, size)(images, generator)
    assert result.shape == (batch, 3, size, size)
    assert result.dtype == torch.float32
    assert result.is_contiguous()
    assert (result >= normalized(-0.01).view(3, 1, 1)).all()
    assert (result <= normalized(255.01).view(3, 1, 1)).all()


@pytest.mark.parametrize("stored", [32, 37])
def test_test_view_is_center_crop_and_normalize(stored: int) -> None:
    images = torch.randint(0, 256, (5, 3, stored, stored), dtype=torch.uint8, generator=seeded())
    expected = reference.normalize(reference.center_crop(images, [32, 32]) / 255, list(MEAN), list(STD))
    assert torch.allclose(view("test")(images), expected, atol=1e-5)
    assert torch.allclose(view("mirrored")(images), expected.flip(-1), atol=1e-5)


def test_weak_view_pads_black_before_normalizing() -> None:
    """A white picture: the border that a shifted crop shows is black, at most 4 pixels wide, and half are flipped."""
    result = view("weak")(torch.full((500, 3, 32, 32), 255, dtype=torch.uint8), seeded())
    white = (result - normalized(255).view(3, 1, 1)).abs().amax(1) < 1e-4
    black = (result - normalized(0).view(3, 1, 1)).abs().amax(1) < 1e-4
    assert (white | black).all()
    missing = 32 - white.any(2).sum(1)
    assert sorted(set(missing.tolist())) == [0, 1, 2, 3, 4]


def test_strong_view_is_crop_operations_normalize_cutout(pictures: Tensor) -> None:
    """Zeros are cut from an otherwise normalised picture: the same draws with a cutout of side 1 cut nothing."""
    strong = view("strong")
    uniforms = torch.rand((strong.draws, len(pictures)), generator=seeded())
    cut = strong.apply(pictures, uniforms)
    uniforms[-3] = 0
    whole = strong.apply(pictures, uniforms)
    hole = cut != whole
    assert hole.any()
    assert (cut[hole] == 0).all()
    assert hole.flatten(1).any(1).float().mean() > 0.5


def test_medium_view_has_two_of_the_strong_ones_four_operations(pictures: Tensor) -> None:
    """Where the last two of four operations are the identity, which is the first of them, strong and medium agree."""
    medium, strong = view("medium"), view("strong")
    uniforms = torch.rand((medium.draws, len(pictures)), generator=seeded())
    crop, operations, magnitudes, cutout = uniforms.split((3, 2, 2, 3))
    nothing = torch.zeros_like(operations)
    padded = torch.cat([crop, operations, nothing, magnitudes, nothing, cutout])
    assert len(padded) == strong.draws
    assert torch.equal(medium.apply(pictures, uniforms), strong.apply(pictures, padded))
    other = torch.cat([crop, operations, nothing + 0.5, magnitudes, nothing, cutout])
    assert not torch.equal(medium.apply(pictures, uniforms), strong.apply(pictures, other))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_depends_on_the_host_reading_data(name: str) -> None:
    """Tensors without data: `.item()`, boolean-mask indexing or a shape made from data would raise."""
    with FakeTensorMode():
        images = torch.empty((4, 3, 40, 40), dtype=torch.uint8)
        current = view(name)
        assert current.apply(images, torch.empty((current.draws, 4))).shape == (4, 3, 32, 32)


@pytest.mark.parametrize("name", ["simclr", "medium", "strong"])
def test_compiles_to_one_graph(name: str, pictures: Tensor) -> None:
    current = view(name)
    uniforms = torch.rand((current.draws, len(pictures)), generator=seeded())
    compiled = torch.compile(current.apply, fullgraph=True, backend="eager")
    assert torch.equal(compiled(pictures, uniforms), current.apply(pictures, uniforms))


def test_autocast_around_the_call_does_not_coarsen_it(pictures: Tensor) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = view("moco")(pictures, seeded())
    assert torch.equal(inside, view("moco")(pictures, seeded()))


@pytest.mark.parametrize("name", ["weak-web", "strong", "test"])
def test_too_small_images_are_refused(name: str, pictures: Tensor) -> None:
    with pytest.raises(SettingsError, match="32 x 32: choose an image size of at most 32"):
        view(name, 33)(pictures, seeded())


def test_random_view_needs_a_generator(pictures: Tensor) -> None:
    with pytest.raises(SettingsError, match=r'view "weak" is random: pass it a torch.Generator on cpu'):
        view("weak")(pictures)


def test_settings_may_name_every_view_and_no_other() -> None:
    assert tuple(RECIPES) == get_args(ViewName)
