"""About 300 files with everything that goes wrong on people's disks, and what has to come out for each.

    python tests/data/torture_set.py FOLDER

writes the set for a look at it by hand.
"""

import io
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = (
    "01",
    "1",
    "10",
    "NA",
    "None",
    "cat",
    "Cat",
    "größe 中文",
    "stray \udcff byte",
    "with, comma; and 'quotes\"",
    "=SUM(A1:A2)",
)
CLASS_NAMES = tuple(name.replace("\udcff", "\\xff") for name in CLASSES)
EMPTY_CLASS, ONE_IMAGE_CLASS = "never photographed", "seen once"
GOOD_PER_CLASS, HELD_OUT_PER_CLASS = 18, 3
SIDE = 24


@dataclass
class Expected:
    """Label, split and code of every file that is an image of a class; how many entries are none."""

    rows: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    ignored: int = 0

    def codes(self) -> dict[str, int]:
        """How many rows have each error code."""
        found = [code for _, _, code in self.rows.values() if code != "VALID"]
        return {code: found.count(code) for code in sorted(set(found))}


def photograph(seed: int, mode: str = "RGB", width: int = SIDE, height: int = SIDE) -> Image.Image:
    """Colour ramps and some noise, unlike those of every other seed."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    waves = [np.sin(6 * (a * x + b * y) + c) for a, b, c in rng.uniform(-1, 1, (3, 3))]
    pixels = 127 + 90 * np.stack(waves, axis=2) + rng.normal(0, 8, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).convert(mode)


def stored(image: Image.Image, file_format: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def _rotated(seed: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return stored(photograph(seed), "JPEG", exif=exif)


def _animated(seed: int, file_format: str) -> bytes:
    return stored(photograph(seed), file_format, save_all=True, append_images=[photograph(seed + 9000)])


def _deep(seed: int) -> bytes:
    grey = np.asarray(photograph(seed, "L")).astype(np.uint16)
    return stored(Image.fromarray(grey * np.uint16(257)), "PNG")


# suffix (often a wrong one) and content
GOOD: tuple[tuple[str, Callable[[int], bytes]], ...] = (
    (".jpg", lambda seed: stored(photograph(seed), "JPEG", quality=90)),
    (".JPG", lambda seed: stored(photograph(seed), "JPEG", progressive=True)),
    (".JpEg", lambda seed: stored(photograph(seed, "L"), "JPEG")),
    (".jpeg", lambda seed: stored(photograph(seed, "CMYK"), "JPEG")),
    (".png", lambda seed: stored(photograph(seed), "PNG")),
    (".PNG", lambda seed: stored(photograph(seed, "L"), "PNG")),
    (".png", lambda seed: stored(photograph(seed, "1"), "PNG")),
    (".png", lambda seed: stored(photograph(seed, "P"), "PNG", transparency=3)),
    (".png", lambda seed: stored(photograph(seed, "RGBA"), "PNG")),
    (".png", _deep),
    (".gif", lambda seed: stored(photograph(seed), "GIF")),
    (".gif", lambda seed: _animated(seed, "GIF")),
    (".webp", lambda seed: stored(photograph(seed), "WEBP")),
    (".webp", lambda seed: _animated(seed, "WEBP")),
    (".bmp", lambda seed: stored(photograph(seed), "BMP")),
    (".tif", lambda seed: stored(photograph(seed), "TIFF", compression="tiff_lzw")),
    (".TIFF", lambda seed: stored(photograph(seed, "CMYK"), "TIFF")),
    (".ppm", lambda seed: stored(photograph(seed), "PPM")),
    (".jpg", lambda seed: stored(photograph(seed), "WEBP")),
    (".jpg", lambda seed: stored(photograph(seed), "GIF")),
    (".png", lambda seed: stored(photograph(seed), "JPEG")),
    (".jpg", _rotated),
    (".png", lambda seed: stored(photograph(seed, width=4, height=300), "PNG")),
    (".png", lambda seed: stored(Image.new("RGB", (1, 1), tuple(np.random.default_rng(seed).bytes(3))), "PNG")),
    ("", lambda seed: stored(photograph(seed), "PNG")),
)

NAMES = (
    "photo {}",
    "bild-ä-{}",
    "写真{}",
    "a,b;{}",
    'it\'s "{}"',
    "=1+{}",
    "@{}",
    "  {}",
    "x\ty {}",
    "line\nbreak {}",
    "%s{}",
)


def _bomb() -> bytes:
    """A PNG file that claims 60,000 x 60,000 pixels and holds none."""
    body = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunks = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (body, b"IEND")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def bad_files() -> Iterator[tuple[str, bytes, str]]:
    """Name, content and code."""
    for k, file_format in enumerate(("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM")):
        for share in (0.5, 0.8):
            data = stored(photograph(500 + k, width=64, height=64), file_format)
            yield f"half {share} {file_format}.jpg", data[: int(len(data) * share)], "ERROR_TRUNCATED_IMAGE"
    for name in ("empty.jpg", "empty.PNG", "empty 2.gif", "empty.webp"):
        yield name, b"", "ERROR_ZERO_SIZE_FILE"
    for k, content in enumerate((b"garbage", bytes(300), np.random.default_rng(0).bytes(900), b"\xff\xfe" * 40)):
        yield f"garbage {k}.jpg", content, "ERROR_CORRUPT_IMAGE"
    damaged = bytearray(stored(photograph(600, width=64, height=64), "PNG"))
    damaged[len(damaged) // 2 : len(damaged) // 2 + 40] = bytes(40)
    yield "damaged.png", bytes(damaged), "ERROR_CORRUPT_IMAGE"
    for name, content in (
        ("not found.jpg", b"<!DOCTYPE html><html><body>404</body></html>"),
        ("page.png", b"\n<html><head></head></html>"),
        ("drawing.png", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
        ("paper.jpg", b"%PDF-1.4 ..."),
        ("archive.jpg", b"PK\x03\x04...."),
        ("pointer.jpg", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
        ("IMG_0001.HEIC", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"),
        ("clip.gif", b"\0\0\0\x18ftypisom\0\0\0\0isom"),
        ("scan.tif", bytes(128) + b"DICM" + bytes(20)),
    ):
        yield name, content, "ERROR_UNSUPPORTED"
    yield "bomb.png", _bomb(), "ERROR_TOO_LARGE"


LITTER = (
    *(".DS_Store", "Thumbs.db", "desktop.ini", "train/.DS_Store", "train/cat/.DS_Store", "train/cat/Thumbs.db"),
    *("train/cat/._photo.jpg", "train/cat/notes.txt", "train/1/labels.csv", "val/readme.md", "train/10/clip.mp4"),
    *(
        "train/.ipynb_checkpoints/x/1.png",
        "train/cat/.ipynb_checkpoints/1-checkpoint.png",
        "__MACOSX/train/cat/._1.jpg",
    ),
    *(".hidden/1.png", "train/Cat/.hidden.png"),
)


def write_torture_set(root: Path) -> Expected:
    """Fill `root` with `train` and `val`; every row's fate."""
    expected = Expected()

    def put(name: str, content: bytes, code: str = "VALID") -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        # Stray bytes stay in file names and are written out in class names.
        split, label, *_ = name.replace("\udcff", "\\xff").split("/")
        expected.rows[name] = (label, split, code)

    seed = 0
    kinds = cycle(GOOD)
    for label in CLASSES:
        for split, count in (("train", GOOD_PER_CLASS), ("val", HELD_OUT_PER_CLASS)):
            for k in range(count):
                suffix, content = next(kinds)
                seed += 1
                deeper = "deep/er/" if k == 5 else ""
                put(f"{split}/{label}/{deeper}{NAMES[k % len(NAMES)].format(k)}{suffix}", content(seed))
    put(f"train/{ONE_IMAGE_CLASS}/only.png", stored(photograph(700), "PNG"))
    (root / "train" / EMPTY_CLASS).mkdir()
    for k, (name, content, code) in enumerate(bad_files()):
        put(f"train/{CLASSES[k % len(CLASSES)]}/{name}", content, code)
    put("val/cat/empty.jpg", b"", "ERROR_ZERO_SIZE_FILE")
    twice = stored(photograph(800, width=40, height=40), "PNG")
    for name in ("train/cat/copy 1.png", "train/cat/copy 2.png", "train/1/conflict.png", "val/cat/leak.png"):
        put(name, twice)
    put("train/10/stored anew.jpg", stored(photograph(801, width=64, height=64), "JPEG", quality=95))
    put("train/10/stored anew 2.jpg", stored(photograph(801, width=64, height=64), "JPEG", quality=70))
    put("train/cat/a folder.jpg/inside.png", stored(photograph(802), "PNG"))
    _put_links(root, expected)
    for name in LITTER:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    # A litter folder counts once, and each of these holds one file; the folder `store` is neither split nor class.
    expected.ignored = len(LITTER) + 1
    expected.rows = dict(sorted(expected.rows.items()))
    return expected


def _put_links(root: Path, expected: Expected) -> None:
    """Symbolic links, a broken one, one back to a folder above, and a name that is no valid text."""
    links = {"train/NA/link.png": root / "val" / "NA" / "linked.png", "train/NA/broken link.png": root / "nowhere.png"}
    links["val/NA/linked.png"] = root / "store" / "1.png"
    (root / "store").mkdir()
    (root / "store" / "1.png").write_bytes(stored(photograph(803), "PNG"))
    for name, target in links.items():
        (root / name).symlink_to(target)
        code = "ERROR_MISSING_FILE" if "broken" in name else "VALID"
        expected.rows[name] = ("NA", name.split("/")[0], code)
    (root / "train" / "cat" / "again").symlink_to(root / "train")
    odd = os.fsdecode(b"train/10/\xff\xfe.png")
    with open(os.fsencode(root) + b"/" + os.fsencode(odd), "wb") as file:
        file.write(stored(photograph(804), "PNG"))
    expected.rows[odd] = ("10", "train", "VALID")


if __name__ == "__main__":
    found = write_torture_set(Path(sys.argv[1]))
    print(f"{len(found.rows)} rows, {found.codes()}, {found.ignored} entries to ignore")
