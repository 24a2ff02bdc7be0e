"""Red (web) and blue (symmetric) Mini-ImageNet of the Controlled Noisy Web Labels."""

from pathlib import Path

import numpy as np

from ..errors import SettingsError
from .bench_data import BenchData
from .image_lists import check_files, check_labels, read_labelled_list

CLASSES = tuple(f"{k:02d}" for k in range(100))  # the lists give numbers only; two digits keep their order as text
COLORS = ("red", "blue")
SOURCE = "the Controlled Noisy Web Labels page of Google Research"
INNER = "mini-imagenet"


def load_red_mini_imagenet(data_dir: Path, level: float, color: str = "red") -> BenchData:
    """The set with nominal noise `level` (0.0 to 0.8), from `data_dir` or its folder `mini-imagenet`.

    Lists: `split/<color>_noise_nl_<level>` and `split/clean_validation`. Images, either layout: `all_images/<file>` and
    `validation/<label>/<file>`; or `<label>/<file>` for both (FaMUS). Training labels are the given, noisy ones.
    Raises DataError where a list or any listed image is missing, SettingsError for another level or color.
    """
    if color not in COLORS or not 0 <= level <= 0.8:
        raise SettingsError(
            f"mini-ImageNet has no {color} noise {level}: choose red or blue and a level from 0.0 to 0.8"
        )
    root = Path(data_dir)
    if not (root / "split").is_dir():
        root = root / INNER
    train_list = root / "split" / f"{color}_noise_nl_{_printed(level)}"
    test_list = root / "split" / "clean_validation"
    train_names, train_labels = _read_list(train_list)
    test_names, test_labels = _read_list(test_list)
    train_paths = _train_paths(root, train_names, train_labels)
    test_paths = _test_paths(root, test_names, test_labels)
    check_files(train_paths, train_list)
    check_files(test_paths, test_list)
    return BenchData(
        name="red-mini-imagenet" if color == "red" else "blue-mini-imagenet",
        classes=CLASSES,
        train_paths=train_paths,
        train_labels=train_labels,
        train_noisy=train_labels,
        test_paths=test_paths,
        test_labels=test_labels,
        canonical=False,
        clean_known=False,
        notes=(
            f"{len(train_paths)} training images listed in {train_list} and {len(test_paths)} test images, all present",
        ),
    )


def _printed(level: float) -> str:
    """0.2 and 0.0, but 0.05: at least one decimal."""
    text = f"{level:g}"
    return text if "." in text else f"{text}.0"


def _read_list(path: Path) -> tuple[list[str], np.ndarray]:
    there = sorted(file.name for file in path.parent.glob("*_noise_nl_*")) if path.parent.is_dir() else []
    found = f"found {', '.join(there)}" if there else "no list was found"
    layout = f"the layout is split/, all_images/ and validation/ as on {SOURCE}"
    names, labels = read_labelled_list(path, f"{path} is missing ({found}): {layout}")
    check_labels(path, labels, len(CLASSES))
    return names, labels


def _train_paths(root: Path, names: list[str], labels: np.ndarray) -> tuple[str, ...]:
    if (root / "all_images").is_dir():
        return tuple(str(root / "all_images" / name) for name in names)
    return _by_label(root, names, labels)


def _test_paths(root: Path, names: list[str], labels: np.ndarray) -> tuple[str, ...]:
    return _by_label(root / "validation" if (root / "validation").is_dir() else root, names, labels)


def _by_label(folder: Path, names: list[str], labels: np.ndarray) -> tuple[str, ...]:
    return tuple(str(folder / str(label) / name) for name, label in zip(names, labels.tolist(), strict=True))
