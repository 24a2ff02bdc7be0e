"""WebVision 1.0, the first 50 classes of its Google part, as used since DivideMix ("mini-WebVision")."""

from pathlib import Path

import numpy as np

from ..errors import DataError
from .bench_data import BenchData, ImageSet
from .image_lists import check_files, read_labelled_list, read_lines

CLASS_COUNT = 50
SOURCE = "the WebVision page of ETH Zurich"
ILSVRC = "ilsvrc12"
_SUFFIXES = (".jpeg", ".jpg", ".png")


def load_webvision(data_dir: Path) -> BenchData:
    """Rows of the lists with a class below 50, in list order.

    Layout: `info/train_filelist_google.txt`, `info/val_filelist.txt`, `info/synsets.txt`; training images as listed
    below the root, test images below `val_images_256/`. Where `imagenet/val/<synset>/` or `imagenet/val/<0..49>/`
    exists, the ILSVRC12 validation images of the same classes become the extra test "ilsvrc12". Class names are
    synsets. Training labels are the given, noisy ones. Raises DataError where a list or any listed image is missing.
    """
    root = Path(data_dir)
    classes = _synsets(root)
    train_list, test_list = root / "info" / "train_filelist_google.txt", root / "info" / "val_filelist.txt"
    train_paths, train_labels = _read_list(train_list, root)
    test_paths, test_labels = _read_list(test_list, root / "val_images_256")
    check_files(train_paths, train_list)
    check_files(test_paths, test_list)
    notes = [f"{len(train_paths)} training and {len(test_paths)} test images of {CLASS_COUNT} classes, all present"]
    extra_tests = {}
    if (root / "imagenet" / "val").is_dir():
        extra_tests[ILSVRC] = _ilsvrc12(root / "imagenet" / "val", classes)
        notes.append(f"{len(extra_tests[ILSVRC].labels)} ILSVRC12 validation images found")
    return BenchData(
        name="webvision",
        classes=classes,
        train_paths=train_paths,
        train_labels=train_labels,
        train_noisy=train_labels,
        test_paths=test_paths,
        test_labels=test_labels,
        canonical=False,
        clean_known=False,
        extra_tests=extra_tests,
        notes=tuple(notes),
    )


def _missing(path: Path) -> str:
    return f"{path} is missing: unpack info/, google/ and val_images_256/ from {SOURCE} into one folder"


def _synsets(root: Path) -> tuple[str, ...]:
    """First word of each of the first 50 lines of `info/synsets.txt`: WordNet ids in class order."""
    path = root / "info" / "synsets.txt"
    lines = read_lines(path, _missing(path))
    if len(lines) < CLASS_COUNT:
        raise DataError(f"{path} has {len(lines)} lines but {CLASS_COUNT} classes are needed: get the list again")
    return tuple(line.split()[0] for line in lines[:CLASS_COUNT])


def _read_list(path: Path, folder: Path) -> tuple[tuple[str, ...], np.ndarray]:
    names, labels = read_labelled_list(path, _missing(path))
    kept = np.flatnonzero(labels < CLASS_COUNT)
    if not len(kept):
        raise DataError(f"{path} lists no image of classes 0 to {CLASS_COUNT - 1}: get the list again")
    return tuple(str(folder / names[row]) for row in kept), labels[kept]


def _ilsvrc12(folder: Path, classes: tuple[str, ...]) -> ImageSet:
    paths: list[str] = []
    labels: list[int] = []
    for label, synset in enumerate(classes):
        source = folder / synset if (folder / synset).is_dir() else folder / str(label)
        images = sorted(str(file) for file in source.glob("*") if file.suffix.lower() in _SUFFIXES)
        if not images:
            raise DataError(
                f"{folder / synset} holds no images: sort the ILSVRC12 validation images into synset folders"
            )
        paths += images
        labels += [label] * len(images)
    return ImageSet(labels=np.array(labels, dtype=np.int64), paths=tuple(paths))
