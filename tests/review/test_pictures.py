"""Whole pictures, and how they are kept."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scanmix_cli.data.decode import DecodeError, decode_whole
from scanmix_cli.review import pictures
from scanmix_cli.review.pictures import Pictures


def test_a_turned_photograph_stands_upright_and_whole(tmp_path: Path) -> None:
    image = Image.new("RGB", (400, 100), "white")
    image.paste("red", (0, 0, 100, 100))
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter to the right: what is left comes to the top
    image.save(tmp_path / "a.jpg", exif=exif, quality=95)
    whole = decode_whole(tmp_path / "a.jpg", 200)
    assert whole.size == (50, 200)
    top = np.asarray(whole.resize((1, 4), Image.Resampling.BOX)).astype(int)
    assert top[0, 0, 1] < 60
    assert top[3, 0, 1] > 200


def test_small_pictures_are_not_enlarged_and_keep_every_pixel(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    shown = Pictures([str(tmp_path / "a.png")], [tmp_path]).get(0, "view")
    assert shown.media_type == "image/png"
    assert (np.asarray(Image.open(io.BytesIO(shown.content))) == pixels).all()


def test_what_is_there_of_a_file_cut_short_is_shown(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.jpg")
    content = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(content[: len(content) // 2])
    assert decode_whole(tmp_path / "a.jpg", 500).size == (200, 200)


@pytest.mark.parametrize("content", [b"", b"no picture"])
def test_other_broken_files_have_a_code(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jpg").write_bytes(content)
    with pytest.raises(DecodeError):
        decode_whole(tmp_path / "a.jpg", 100)


def test_pictures_are_kept_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def decode(path: str, longest: int) -> Image.Image:
        read.append(Path(path).name)
        return Image.new("RGB", (longest, longest))

    paths = [tmp_path / f"{k}.png" for k in range(4)]
    for path in paths:
        path.touch()
    monkeypatch.setattr(pictures, "decode_whole", decode)
    one = len(pictures.encode(Image.new("RGB", (112, 112))).content)
    monkeypatch.setattr(pictures, "KEPT_BYTES", 2 * one)
    shown = Pictures([str(path) for path in paths], [tmp_path])
    for row in (0, 1, 0, 2, 0, 1):  # 1 is the one not used for longest when 2 comes
        shown.get(row, "small")
    assert read == ["0.png", "1.png", "2.png", "1.png"]
