"""Tiny data sets on disk: coloured squares that a few gradient steps can tell apart."""

import pickle
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = ("blue", "green", "red")


def squares(count: int, classes: int, seed: int = 0, side: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """uint8 (count, side, side, 3) whose brightness tells the class, and the classes in turn, int64 (count,)."""
    labels = np.arange(count) % classes
    noise = np.random.default_rng(seed).integers(0, 20, (count, side, side, 3))
    level = (labels * (230 // max(classes - 1, 1)))[:, None, None, None]
    return (noise + level).astype(np.uint8), labels


def write_image(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, "PNG")


def write_folder(root: Path, per_class: int = 12, held_out: int = 4) -> Path:
    """`train/CLASS/*.png` and `test/CLASS/*.png` of three classes."""
    for seed, (part, each) in enumerate((("train", per_class), ("test", held_out))):
        images, labels = squares(3 * each, 3, seed)
        for number, (pixels, label) in enumerate(zip(images, labels, strict=True)):
            write_image(root / part / COLOURS[label] / f"{number:03d}.png", pixels)
    return root


def write_cifar10(root: Path, per_batch: int = 10) -> Path:
    """The batches that torchvision reads, with few images."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for seed, file in enumerate([*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]):
        images, labels = squares(per_batch, 10, seed, side=32)
        data = images.transpose(0, 3, 1, 2).reshape(per_batch, -1)
        (folder / file).write_bytes(pickle.dumps({"labels": labels.tolist(), "data": data}, protocol=2))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": [f"class{k}" for k in range(10)]}, protocol=2))
    return root


def write_mini_imagenet(root: Path, color: str = "blue") -> Path:
    """Controlled Noisy Web Labels with two classes and level 0.4."""
    images, labels = squares(24, 2)
    for number, pixels in enumerate(images[:20]):
        write_image(root / "all_images" / f"{number}.jpg", pixels)
    for number in range(20, 24):
        write_image(root / "validation" / str(labels[number]) / f"{number}.jpg", images[number])
    lists = {f"{color}_noise_nl_0.4": range(20), "clean_validation": range(20, 24)}
    for name, numbers in lists.items():
        (root / "split").mkdir(exist_ok=True)
        (root / "split" / name).write_text("".join(f"{k}.jpg {labels[k]}\n" for k in numbers))
    return root


def write_clothing1m(root: Path) -> Path:
    """Two of the 14 classes; the noisy part and the clean test part."""
    images, labels = squares(24, 2)
    keys = [f"images/{k % 3}/{k:02d}.jpg" for k in range(24)]
    for key, pixels in zip(keys, images, strict=True):
        write_image(root / key, pixels)
    for name, numbers in (("noisy", range(20)), ("clean", range(20, 24))):
        (root / f"{name}_label_kv.txt").write_text("".join(f"{keys[k]} {labels[k]}\n" for k in numbers))
    for name, numbers in (("noisy_train", range(20)), ("clean_test", range(20, 24))):
        (root / f"{name}_key_list.txt").write_text("".join(f"{keys[k]}\n" for k in numbers))
    return root


def write_webvision(root: Path) -> Path:
    """Two of the 50 classes, with the ILSVRC12 validation images of every class."""
    images, labels = squares(24, 2)
    synsets = [f"n{k:08d}" for k in range(50)]
    (root / "info").mkdir(parents=True)
    (root / "info" / "synsets.txt").write_text("".join(f"{synset} name\n" for synset in synsets))
    for name, numbers in (("train_filelist_google", range(20)), ("val_filelist", range(20, 24))):
        folder = root / "val_images_256" if name.startswith("val") else root
        lines = [f"google/{k}.jpg {labels[k]}" for k in numbers]
        (root / "info" / f"{name}.txt").write_text("".join(line + "\n" for line in lines))
        for k in numbers:
            write_image(folder / "google" / f"{k}.jpg", images[k])
    for k, synset in enumerate(synsets):
        write_image(root / "imagenet" / "val" / synset / "a.JPEG", images[k % 2])
    return root
