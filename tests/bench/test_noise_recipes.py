"""Noise recipes against published label files and their hashes."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

from scanmix_cli.bench.cifar import load_cifar
from scanmix_cli.bench.noise import (
    CIFAR10_TRANSITION,
    asymmetric,
    label_hash,
    next_class,
    read_transition,
    realised_rate,
    symmetric,
)
from scanmix_cli.errors import DataError, SettingsError

LABELS = Path(__file__).resolve().parents[3] / "shared" / "data" / "cifar10" / "labels.npz"
CIFAR100 = os.environ.get("SCANMIX_CIFAR100_DIR", "")

SCANMIX_SYMMETRIC = {
    0.2: ("1b57d2648f653a5a", 9003),
    0.5: ("feba312e885a326e", 22527),
    0.8: ("0cec7a3f8dc2962d", 36047),
    0.9: ("4f774ee635a68690", 40499),
}
SCANMIX_ASYMMETRIC = {0.4: ("46acecddb6f6e740", 10010), 0.49: ("0d8e748b01ea759d", 12260)}
SEMANTIC = {
    "densenet": ("347bbd5d814e7926", 15946),
    "resnet": ("4895e16b3f42e1ac", 19023),
    "vgg": ("c0cbd9b5f396403f", 15046),
}
DIVIDEMIX_SYMMETRIC = {
    0.2: ("dd932e4c763dbab9", 0.1794),
    0.5: ("2230903491020533", 0.4497),
    0.8: ("79de8111188e19dc", 0.7207),
    0.9: ("0fb3467e367cd31d", 0.8079),
}
CIFAR100_SYMMETRIC = {
    "dividemix": {
        0.2: ("f8e9a0aab01a1a15", 0.1978),
        0.5: ("f1132f38b460c7c3", 0.4950),
        0.8: ("fad7acd0627d5158", 0.7922),
        0.9: ("ac6af1e55e7533b0", 0.8908),
    },
    "scanmix": {
        0.2: ("888f3b90651f8d75", 0.1978),
        0.5: ("2404d86efe4243ef", 0.4949),
        0.8: ("24077d9705a4037e", 0.7916),
        0.9: ("9ceac13ab8689f09", 0.8905),
    },
}


@pytest.fixture(scope="module")
def released() -> dict[str, np.ndarray]:
    """CIFAR-10 clean labels and the label files released with ScanMix."""
    if not LABELS.is_file():
        pytest.skip("needs the CIFAR-10 label sets in ../shared/data/cifar10/labels.npz")
    with np.load(LABELS) as archive:
        return {name: archive[name] for name in archive.files}


def test_clean_cifar10_labels(released: dict[str, np.ndarray]) -> None:
    assert label_hash(released["train_clean"]) == "2b7cd2f244873176"


@pytest.mark.parametrize("rate", SCANMIX_SYMMETRIC)
def test_scanmix_recipe_repeats_the_released_symmetric_files(released: dict[str, np.ndarray], rate: float) -> None:
    digest, wrong = SCANMIX_SYMMETRIC[rate]
    noisy = symmetric(released["train_clean"], 10, rate, "scanmix")
    assert np.array_equal(noisy, released[f"scanmix_sym{rate * 100:.0f}"])
    assert label_hash(noisy) == digest
    assert realised_rate(released["train_clean"], noisy) == wrong / 50000


@pytest.mark.parametrize("rate", SCANMIX_ASYMMETRIC)
def test_asymmetric_repeats_the_released_files(released: dict[str, np.ndarray], rate: float) -> None:
    digest, wrong = SCANMIX_ASYMMETRIC[rate]
    noisy = asymmetric(released["train_clean"], rate, CIFAR10_TRANSITION)
    assert np.array_equal(noisy, released[f"scanmix_asym{rate * 100:.0f}"])
    assert label_hash(noisy) == digest
    assert realised_rate(released["train_clean"], noisy) == wrong / 50000


@pytest.mark.parametrize("network", SEMANTIC)
def test_released_semantic_files(released: dict[str, np.ndarray], network: str) -> None:
    """They come from trained networks and cannot be drawn anew; hash and rate are checked all the same."""
    digest, wrong = SEMANTIC[network]
    noisy = released[f"scanmix_semantic_{network}"]
    assert label_hash(noisy) == digest
    assert realised_rate(released["train_clean"], noisy) == wrong / 50000


@pytest.mark.parametrize("rate", DIVIDEMIX_SYMMETRIC)
def test_dividemix_recipe_on_cifar10(released: dict[str, np.ndarray], rate: float) -> None:
    digest, realised = DIVIDEMIX_SYMMETRIC[rate]
    noisy = symmetric(released["train_clean"], 10, rate, "dividemix")
    assert label_hash(noisy) == digest
    assert realised_rate(released["train_clean"], noisy) == pytest.approx(realised, abs=5e-5)


@pytest.mark.skipif(not CIFAR100, reason="needs CIFAR-100: set SCANMIX_CIFAR100_DIR to the folder of its batches")
@pytest.mark.parametrize("recipe", CIFAR100_SYMMETRIC)
def test_cifar100_hashes(recipe: str) -> None:
    """The clean labels of CIFAR-100 enter these hashes, so they can only be checked where the data set lies."""
    clean = load_cifar("cifar100", Path(CIFAR100)).train_labels
    assert label_hash(clean) == "9f11b9f97aad759b"
    for rate, (digest, realised) in CIFAR100_SYMMETRIC[recipe].items():
        noisy = symmetric(clean, 100, rate, recipe)
        assert label_hash(noisy) == digest
        assert realised_rate(clean, noisy) == pytest.approx(realised, abs=5e-5)


def test_cifar100_length_of_the_published_file_fits_the_dividemix_recipe_only() -> None:
    """What can be said without the clean labels, which the hashes above need.

    The 90 % file that PropMix published is a JSON list of 194,904 characters: 94,904 digits plus ", " and brackets, so
    5,096 of the 50,000 labels have one digit. The 45,000 redrawn ones do not depend on the clean labels; the rest must
    make up the difference. 5,000 labels of a balanced set hold 500 one-digit labels, give or take 20.
    """
    one_digit = 100_000 - (194_904 - 2 * 50_000)
    unknown = np.full(50_000, -1)
    kept_one_digit = {}
    for recipe in ("dividemix", "scanmix"):
        noisy = symmetric(unknown, 100, 0.9, recipe)
        drawn = noisy[noisy >= 0]
        assert len(drawn) == 45_000
        kept_one_digit[recipe] = one_digit - int((drawn < 10).sum())
    assert abs(kept_one_digit["dividemix"] - 500) < 3 * 20
    assert abs(kept_one_digit["scanmix"] - 500) > 6 * 20


def test_recipes_share_the_chosen_rows_but_not_the_draws() -> None:
    unknown = np.full(2000, -1)
    one, other = (symmetric(unknown, 10, 0.4, recipe) for recipe in ("dividemix", "scanmix"))
    assert np.array_equal(one >= 0, other >= 0)
    assert (one >= 0).sum() == 800
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.37, 1.0])
def test_exact_recipe_hits_the_rate_with_other_classes_only(rate: float) -> None:
    clean = np.repeat(np.arange(4), 500)
    noisy = symmetric(clean, 4, rate, "exact", seed=5)
    assert realised_rate(clean, noisy) == rate
    if rate == 1.0:
        # Each of the three other classes is drawn about 167 times a class; 5 standard deviations are 53.
        counts = np.array([np.bincount(noisy[clean == k], minlength=4) for k in range(4)])
        assert (np.abs(counts[~np.eye(4, dtype=bool)] - 500 / 3) < 53).all()


@pytest.mark.parametrize("recipe", ["dividemix", "scanmix", "exact"])
def test_a_seed_names_one_label_list(recipe: str) -> None:
    clean = np.arange(300) % 10
    state = random.getstate()
    one = symmetric(clean, 10, 0.5, recipe, seed=1)
    assert random.getstate() == state  # the shared generator is left alone
    assert np.array_equal(one, symmetric(clean, 10, 0.5, recipe, seed=1))
    assert not np.array_equal(one, symmetric(clean, 10, 0.5, recipe, seed=2))
    assert np.array_equal(clean, np.arange(300) % 10)
    assert one.dtype == np.int64


def test_asymmetric_sends_the_chosen_rows_through_the_table() -> None:
    clean = np.tile(np.arange(5), 40)
    everything = asymmetric(clean, 1.0, next_class(5))
    assert np.array_equal(everything, (clean + 1) % 5)
    half = asymmetric(clean, 0.5, next_class(5))
    assert realised_rate(clean, half) == 0.5
    assert next_class(3) == (1, 2, 0)


@pytest.mark.parametrize(
    ("rate", "recipe", "message"),
    [
        (1.5, "exact", "noise rate 1.5 is outside 0 to 1: give a share such as 0.4"),
        (float("nan"), "exact", "noise rate nan is outside 0 to 1: give a share such as 0.4"),
        (0.5, "random", "unknown noise recipe 'random': choose one of dividemix, scanmix, exact"),
    ],
)
def test_wrong_settings(rate: float, recipe: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        symmetric(np.zeros(4, int), 2, rate, recipe)
    assert str(raised.value) == message


def test_a_transition_must_cover_the_labels() -> None:
    with pytest.raises(SettingsError) as raised:
        asymmetric(np.array([0, 12]), 0.5, CIFAR10_TRANSITION)
    assert str(raised.value) == "the transition covers 10 classes but label 12 occurs: give one target a class"


def test_exact_noise_needs_two_classes() -> None:
    with pytest.raises(SettingsError) as raised:
        symmetric(np.zeros(4, int), 1, 0.5, "exact")
    assert str(raised.value) == "exact symmetric noise needs at least 2 classes: give a data set with more"


def test_map_file(tmp_path: Path) -> None:
    file = tmp_path / "map.json"
    file.write_text('{"truck": "car", "cat": "dog", "dog": "cat"}', encoding="utf-8")
    assert read_transition(file, ("car", "cat", "dog", "truck")) == (0, 2, 1, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"cat": "wolf"}', "map file {} names 'wolf', which is no class here: use cat, dog"),
        ('["cat"]', "map file {} holds no JSON object: write true class names with the class each is taken for"),
        ('{"cat": 1}', "map file {} names 1, which is no class here: use cat, dog"),
        ('{"cat": ["dog"]}', "map file {} names ['dog'], which is no class here: use cat, dog"),
    ],
)
def test_wrong_map_files(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "map.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_transition(file, ("cat", "dog"))
    assert str(raised.value) == message.format(file)


def test_unreadable_map_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"map\.json cannot be read \(No such file or directory\): check the path"):
        read_transition(tmp_path / "map.json", ("cat", "dog"))
    (tmp_path / "map.json").write_text("cat,dog", encoding="utf-8")
    with pytest.raises(DataError, match=r"map\.json is not JSON .*write an object such as \{'cat': 'dog'\}"):
        read_transition(tmp_path / "map.json", ("cat", "dog"))


def test_hash_widens_with_the_labels() -> None:
    small = np.array([0, 1, 255])
    assert label_hash(small) == label_hash(small.astype(np.uint8))
    assert label_hash(np.array([1, 0])) != label_hash(np.array([1]))
    wide = np.array([0, 1, 256])
    assert label_hash(wide) == label_hash(wide.astype(np.uint16)) != label_hash(small)
    assert (
        label_hash(np.array([-1, 1])) == label_hash(np.array([-1, 1], dtype=np.int8)) != label_hash(np.array([255, 1]))
    )
    assert label_hash(np.array([], dtype=int)) == "e3b0c44298fc1c14"  # sha256 of nothing
    assert realised_rate(np.array([]), np.array([])) == 0.0
