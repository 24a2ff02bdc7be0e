"""CIFAR-10 and CIFAR-100 from the python batches that torchvision uses too."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, RunError
from .bench_data import BenchData
from .restricted_pickle import load_plain_pickle

SOURCE = "the CIFAR page of the University of Toronto"
SIDE = 32
_LABEL_KEYS = {"cifar10": "labels", "cifar100": "fine_labels"}
FOLDERS = {"cifar10": "cifar-10-batches-py", "cifar100": "cifar-100-python"}  # of the batch files


def load_cifar(name: str, data_dir: Path, download: bool = False) -> BenchData:
    """The set `name`, "cifar10" or "cifar100", from `data_dir`, which holds the folder of batches or is that folder.

    Images are uint8 (50000, 3, 32, 32) and (10000, 3, 32, 32) in the order of the batch files; smaller files are read
    as they are. `canonical` tells whether all batch files have the published checksums. With `download` a missing
    folder is fetched, with torchvision's address and checksum. Raises DataError where files are missing or wrong,
    RunError where the download fails.
    """
    published = _published(name)
    folder = _folder(name, published, data_dir, download)
    train_files, test_files = ([file for file, _ in part] for part in (published.train_list, published.test_list))
    classes = _class_names(folder / published.meta["filename"], published.meta["key"])
    train_images, train_labels = _read_batches(folder, train_files, _LABEL_KEYS[name], len(classes))
    test_images, test_labels = _read_batches(folder, test_files, _LABEL_KEYS[name], len(classes))
    canonical = all(_md5(folder / file) == md5 for file, md5 in (*published.train_list, *published.test_list))
    return BenchData(
        name=name,
        classes=classes,
        train_images=train_images,
        train_labels=train_labels,
        test_images=test_images,
        test_labels=test_labels,
        canonical=canonical,
        clean_known=True,
        notes=(
            f"{len(train_labels)} training and {len(test_labels)} test images read from {folder}",
            *([] if canonical else ["the image files differ from the published ones (checksum)"]),
        ),
    )


def _published(name: str) -> Any:
    """What torchvision knows of the set: addresses, names and checksums. Importing it takes seconds, which nobody needs
    who uses other images."""
    from torchvision.datasets import CIFAR10, CIFAR100

    return {"cifar10": CIFAR10, "cifar100": CIFAR100}[name]


def _folder(name: str, published: Any, data_dir: Path, download: bool) -> Path:
    """The folder of batch files."""
    data_dir = Path(data_dir)
    if (data_dir / published.meta["filename"]).is_file():
        return data_dir
    folder = data_dir / FOLDERS[name]
    if folder.is_dir():
        return folder
    if not download:
        raise DataError(
            f"{name} is not in {data_dir}: put the folder {folder.name} of the python version from {SOURCE} "
            "there, or allow the download"
        )
    from torchvision.datasets.utils import download_and_extract_archive

    try:
        download_and_extract_archive(published.url, str(data_dir), filename=published.filename, md5=published.tgz_md5)
    except (OSError, RuntimeError) as error:
        raise RunError(
            f"{name} could not be downloaded ({error}): get it from {SOURCE} and unpack it in {data_dir}"
        ) from error
    return folder


def _class_names(path: Path, key: str) -> tuple[str, ...]:
    meta = load_plain_pickle(path)
    names = meta.get(key) if isinstance(meta, dict) else None
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"{path} holds no list {key}: get the python version from {SOURCE}")
    return tuple(names)


def _read_batches(folder: Path, files: list[str], key: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """uint8 (N, 3, 32, 32) and int64 (N,), batches one after the other."""
    batches = [_read_batch(folder / file, key, classes) for file in files]
    images = np.concatenate([pixels for pixels, _ in batches])
    return images.reshape(-1, 3, SIDE, SIDE), np.concatenate([labels for _, labels in batches])


def _read_batch(path: Path, key: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """uint8 (n, 3072) and int64 (n,)."""
    batch: Any = load_plain_pickle(path)
    if not isinstance(batch, dict) or "data" not in batch or key not in batch:
        raise DataError(f"{path} has no data and {key}: get the python version from {SOURCE}")
    pixels, labels = np.asarray(batch["data"]), np.asarray(batch[key])
    if pixels.dtype != np.uint8 or pixels.ndim != 2 or pixels.shape[1] != 3 * SIDE * SIDE:
        raise DataError(f"{path} holds {pixels.dtype} data of shape {pixels.shape}: rows of 3072 bytes are needed")
    if labels.shape != (len(pixels),) or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(
            f"{path} does not hold one number of {key} for each of its {len(pixels)} images: get the file again"
        )
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(outside):
        raise DataError(
            f"{path} has label {labels[outside[0]]} in row {outside[0]} with {classes} classes: get the file again"
        )
    return pixels, labels.astype(np.int64)


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
