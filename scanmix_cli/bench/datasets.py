"""Published benchmark data sets by name."""

from difflib import get_close_matches
from pathlib import Path

from ..errors import SettingsError
from .bench_data import BenchData
from .cifar import load_cifar
from .clothing1m import load_clothing1m
from .red_mini_imagenet import load_red_mini_imagenet
from .webvision import load_webvision

DATASETS = ("cifar10", "cifar100", "red-mini-imagenet", "webvision", "clothing1m")


def load_dataset(
    name: str, data_dir: Path, level: float | None = None, color: str = "red", download: bool = False
) -> BenchData:
    """The data set `name`, one of `DATASETS`, from its published layout below `data_dir`.

    `level` and `color` are for red-mini-imagenet only, `download` for CIFAR only. Raises SettingsError for an unknown
    name or a missing level, DataError where data are missing or wrong.
    """
    if name in ("cifar10", "cifar100"):
        return load_cifar(name, data_dir, download)
    if name == "red-mini-imagenet":
        if level is None:
            raise SettingsError("red-mini-imagenet comes with its noise: give the level, such as --rate 0.4")
        return load_red_mini_imagenet(data_dir, level, color)
    if name == "webvision":
        return load_webvision(data_dir)
    if name == "clothing1m":
        return load_clothing1m(data_dir)
    similar = get_close_matches(name, DATASETS, n=1, cutoff=0.4)
    nearest = f" (nearest: {similar[0]})" if similar else ""
    raise SettingsError(f"unknown data set {name!r}{nearest}: choose one of {', '.join(DATASETS)}")
