"""Clothing1M: shop pictures with labels from the text around them, and a clean test part."""

from pathlib import Path

import numpy as np

from ..errors import DataError
from .bench_data import BenchData
from .image_lists import check_files, check_labels, read_labelled_list, read_lines

CLASSES = (
    *("T-Shirt", "Shirt", "Knitwear", "Chiffon", "Sweater", "Hoodie", "Windbreaker"),
    *("Jacket", "Downcoat", "Suit", "Shawl", "Dress", "Vest", "Underwear"),
)
SOURCE = "the Clothing1M page of its authors (Xiao et al. 2015)"
PREFIX = "images/"


def load_clothing1m(data_dir: Path) -> BenchData:
    """The noisy training part and the clean test part, rows in the order of the key lists.

    Layout: `noisy_label_kv.txt`, `clean_label_kv.txt`, `noisy_train_key_list.txt`, `clean_test_key_list.txt`; images
    below `images/` or straight below the root, keys with or without that prefix. The clean training part is
    left out by convention. Raises DataError where a list, a label or any listed image is missing.
    """
    root = Path(data_dir)
    train_list, test_list = root / "noisy_train_key_list.txt", root / "clean_test_key_list.txt"
    train_paths, train_labels = _read_part(root, train_list, root / "noisy_label_kv.txt")
    test_paths, test_labels = _read_part(root, test_list, root / "clean_label_kv.txt")
    check_files(train_paths, train_list)
    check_files(test_paths, test_list)
    return BenchData(
        name="clothing1m",
        classes=CLASSES,
        train_paths=train_paths,
        train_labels=train_labels,
        train_noisy=train_labels,
        test_paths=test_paths,
        test_labels=test_labels,
        canonical=False,
        clean_known=False,
        notes=(f"{len(train_paths)} training and {len(test_paths)} test images, all present",),
    )


def _missing(path: Path) -> str:
    return f"{path} is missing: ask for the annotation archive on {SOURCE} and unpack it beside the images"


def _read_part(root: Path, key_list: Path, label_list: Path) -> tuple[tuple[str, ...], np.ndarray]:
    """Paths and int64 labels of the keys in `key_list`."""
    keys = [key.removeprefix(PREFIX) for key in read_lines(key_list, _missing(key_list))]
    if not keys:
        raise DataError(f"{key_list} is empty: get the list from its publisher again")
    names, numbers = read_labelled_list(label_list, _missing(label_list))
    check_labels(label_list, numbers, len(CLASSES))
    label_of: dict[str, int] = {}
    for row, (name, number) in enumerate(zip(names, numbers.tolist(), strict=True)):
        if label_of.setdefault(name.removeprefix(PREFIX), number) != number:
            raise DataError(f"{label_list} gives {name} another label in row {row} than before: get the list again")
    for row, key in enumerate(keys):
        if key not in label_of:
            raise DataError(f"{label_list} has no label for {key} (row {row} of {key_list}): get both lists again")
    folder = root / PREFIX if (root / PREFIX).is_dir() else root
    return tuple(str(folder / key) for key in keys), np.array([label_of[key] for key in keys], dtype=np.int64)
