"""Write the sample data set: real handwritten digits, one training image in five in the wrong class folder.

    python sample_data/make_digits.py [OUT]

makes `train/`, `test/`, `labels.csv` and `truth.csv` under OUT (default: `digits` beside this file) from the images
that ship with scikit-learn. The same seed gives the same files, byte for byte under the versions of constraints.txt.
"""

import csv
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

SEED = 0
TRAIN, TEST, WRONG = 1200, 400, 240
SIDE = 32
SOURCE_MAXIMUM = 16  # the originals hold 0..16: the inked pixels in a block of 4 x 4


@dataclass(frozen=True)
class Digit:
    """One image of the set: `true` is what was written, `given` the folder it is filed under."""

    split: str
    name: str
    pixels: np.ndarray  # uint8 (8, 8)
    true: int
    given: int

    @property
    def path(self) -> str:
        return f"{self.split}/{self.given}/{self.name}"


def choose(seed: int = SEED) -> list[Digit]:
    """Draw the images in random order and file WRONG of the training ones under another class, uniformly.

    Names are running numbers in the drawn order, so that they say nothing about the class.
    """
    source = load_digits()
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(source.target))[: TRAIN + TEST]
    wrong = rng.choice(TRAIN, size=WRONG, replace=False)
    shift = np.zeros(TRAIN + TEST, dtype=np.int64)
    shift[wrong] = rng.integers(1, 10, size=WRONG)
    digits = []
    for number, row in enumerate(drawn):
        true = int(source.target[row])
        digits.append(
            Digit(
                split="train" if number < TRAIN else "test",
                name=f"digit_{number + 1:04d}.png",
                pixels=np.rint(source.images[row] * (255 / SOURCE_MAXIMUM)).astype(np.uint8),
                true=true,
                given=(true + int(shift[number])) % 10,
            )
        )
    return sorted(digits, key=lambda digit: digit.path)


def write_table(path: Path, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write(out: Path, digits: list[Digit]) -> None:
    """Replace the images and tables under `out`; other files there are left alone."""
    for split in ("train", "test"):
        shutil.rmtree(out / split, ignore_errors=True)
    for digit in digits:
        target = out / digit.path
        target.parent.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(digit.pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        image.save(target, optimize=True)
    write_table(
        out / "labels.csv",
        ("file_name", "label", "split"),
        ((digit.path, str(digit.given), digit.split) for digit in digits),
    )
    write_table(
        out / "truth.csv",
        ("file_name", "label"),
        ((digit.path.removeprefix("train/"), str(digit.true)) for digit in digits if digit.split == "train"),
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "digits", choose())
