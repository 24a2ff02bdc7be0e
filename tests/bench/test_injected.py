"""The labels a benchmark trains on: which, from where, and under which name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from scanmix_cli.bench.injected import NoisyLabels, label_files, noisy_labels
from scanmix_cli.bench.noise import label_hash, symmetric
from scanmix_cli.bench.request import BenchRequest
from scanmix_cli.errors import DataError

CLASSES = [f"class{k}" for k in range(10)]
CLEAN = np.arange(50) % 10


def make(tmp_path: Path, seed: int = 0, given: NoisyLabels | None = None, **options: Any) -> NoisyLabels:
    request = BenchRequest(**{"target": "cifar10", "out": tmp_path, "data_dir": tmp_path, **options})
    return noisy_labels(request, CLASSES, CLEAN, given, seed)


def test_first_run_has_the_published_labels_and_repeats_their_own(tmp_path: Path) -> None:
    first, second = make(tmp_path, 0, noise="sym", rate=0.9), make(tmp_path, 1, noise="sym", rate=0.9)
    assert np.array_equal(first.labels, symmetric(CLEAN, 10, 0.9, "dividemix", 123))
    assert np.array_equal(second.labels, symmetric(CLEAN, 10, 0.9, "dividemix", 124))
    assert first.stem(CLEAN) == "sym-0.9-dividemix-seed123"
    assert second.stem(CLEAN) == "sym-0.9-dividemix-seed124"


def test_rate_defaults_and_recipe_is_named(tmp_path: Path) -> None:
    assert make(tmp_path, recipe="exact").stem(CLEAN) == "sym-0.4-exact-seed123"
    assert make(tmp_path, noise="none").stem(CLEAN) == "none-0"


def test_asymmetric_maps(tmp_path: Path) -> None:
    paper = make(tmp_path, noise="asym", rate=1.0)
    assert paper.labels[:10].tolist() == [0, 1, 0, 5, 7, 3, 6, 7, 8, 1]
    following = make(tmp_path, target=str(tmp_path), noise="asym", rate=1.0)
    assert following.labels[:10].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    (tmp_path / "map.json").write_text('{"class3": "class8"}')
    mapped = make(tmp_path, noise="asym", rate=1.0, noise_map=tmp_path / "map.json")
    assert mapped.labels[:10].tolist() == [0, 1, 2, 8, 4, 5, 6, 7, 8, 9]
    assert (mapped.source, mapped.stem(CLEAN)) == ("asymmetric, map map.json", "asym-1-map-seed123")


def test_human_labels_in_the_published_file_and_as_array(tmp_path: Path) -> None:
    worst = (CLEAN + (np.arange(50) < 20)) % 10
    torch.save({"clean_label": CLEAN, "worse_label": worst, "aggre_label": CLEAN}, tmp_path / "CIFAR-10_human.pt")
    found = make(tmp_path, noise="human-worst")
    assert np.array_equal(found.labels, worst)
    assert (found.rate, found.seed) == (None, None)
    assert found.stem(CLEAN) == "human-worst-0.4-published"
    (tmp_path / "labels").mkdir()
    np.save(tmp_path / "labels" / "cifar10n_rand1.npy", worst)
    (tmp_path / "CIFAR-10_human.pt").unlink()
    assert np.array_equal(make(tmp_path, noise="human-rand1").labels, worst)


def test_human_labels_for_another_image_order_are_refused(tmp_path: Path) -> None:
    other = CLEAN[::-1].copy()
    torch.save({"clean_label": other, "worse_label": other}, tmp_path / "CIFAR-10_human.pt")
    with pytest.raises(DataError, match="is for another image order: 50 of its 50 clean labels differ, first in row 0"):
        make(tmp_path, noise="human-worst")


def test_semantic_labels_of_the_release(tmp_path: Path) -> None:
    (tmp_path / "0.40_semantic_vgg.json").write_text(str({"noise_labels": CLEAN.tolist()}).replace("'", '"'))
    assert label_files("cifar10", "semantic-vgg", tmp_path) == [(tmp_path / "0.40_semantic_vgg.json", None)]
    assert np.array_equal(make(tmp_path, noise="semantic-vgg").labels, CLEAN)


def test_missing_label_set_says_what_and_where_from(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        make(tmp_path, noise="human-aggre")
    assert str(raised.value) == (
        f"human-aggre labels are not in {tmp_path}: put CIFAR-10_human.pt or cifar10n_aggre.npy from the page of "
        "CIFAR-N there, or use --noise file:PATH"
    )


def test_any_label_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.npy"
    np.save(path, (CLEAN + 1) % 10)
    found = make(tmp_path, noise=f"file:{path}")
    assert found.stem(CLEAN) == "mine-1-published"
    assert label_hash(found.labels) == label_hash((CLEAN + 1) % 10)
    np.save(path, CLEAN[:-1])
    with pytest.raises(DataError) as raised:
        make(tmp_path, noise=f"file:{path}")
    assert str(raised.value) == (
        f"label file {path} has 49 labels for 50 images: give one per image, in data order (without those that cannot "
        "be read or have no label), or name them in a CSV with a column file_name"
    )


def test_labels_that_came_with_the_set_are_taken_as_they_are(tmp_path: Path) -> None:
    own = NoisyLabels("red", CLEAN, 0.4, "published", None, "as published with the set")
    assert make(tmp_path, target="red-mini-imagenet", given=own) is own
    assert own.stem(None) == "red-0.4-published"
