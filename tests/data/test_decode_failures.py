"""Files that cannot be used: each gets the code that says why."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_files import picture
from PIL import Image

from scanmix_cli.data.decode import DecodeError, decode_bytes, decode_file


def failure(data: bytes) -> tuple[str, str]:
    with pytest.raises(DecodeError) as caught:
        decode_bytes(data, 16)
    return caught.value.code, caught.value.message


def encoded(file_format: str) -> bytes:
    buffer = io.BytesIO()
    picture(0, 48, 48).save(buffer, file_format)
    return buffer.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG file that claims to be of this size and holds no pixels."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = b"IEND"
    chunks = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (body, end)]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_missing_file_folder_and_blank_path(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "gone.png", "cannot be opened: No such file or directory"),
        (tmp_path, "cannot be opened: Is a directory"),
        (str(tmp_path / "a\0b.png"), "cannot be opened: no valid file name"),
        ("", "the row names no file"),
    ):
        with pytest.raises(DecodeError) as caught:
            decode_file(path, 16)
        assert (caught.value.code, caught.value.message) == ("ERROR_MISSING_FILE", message)


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    with pytest.raises(DecodeError) as caught:
        decode_file(tmp_path / "a.png", 16)
    assert (caught.value.code, caught.value.message) == ("ERROR_ZERO_SIZE_FILE", "the file is empty")


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "PPM", "TIFF"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_files_cut_short(file_format: str, share: float) -> None:
    data = encoded(file_format)
    code, message = failure(data[: max(12, int(len(data) * share))])
    if share == 0.01 and file_format in ("GIF", "TIFF"):  # the cut goes through the colour table or the first pixels
        assert code in ("ERROR_TRUNCATED_IMAGE", "ERROR_CORRUPT_IMAGE")
    else:
        assert (code, message) == ("ERROR_TRUNCATED_IMAGE", "the file ends before the picture does")


def test_garbage() -> None:
    noise = np.random.default_rng(0).bytes(2000)
    assert failure(noise) == ("ERROR_CORRUPT_IMAGE", "the content is no picture that can be read")
    assert failure(b"garbage")[0] == "ERROR_CORRUPT_IMAGE"
    assert failure(bytes(500))[0] == "ERROR_CORRUPT_IMAGE"


def test_damage_in_the_middle() -> None:
    data = bytearray(encoded("PNG"))
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    code, message = failure(bytes(data))
    assert code == "ERROR_CORRUPT_IMAGE"
    assert message.startswith("the picture is damaged: ")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"<!DOCTYPE html><html><body>404</body></html>", "an HTML page"),
        (b"\n <HTML><body>Not found</body></HTML>", "an HTML page"),
        (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "an SVG drawing"),
        (b"%PDF-1.4 ...", "a PDF document"),
        (b"PK\x03\x04....", "a ZIP archive"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "a HEIC picture (convert it to JPEG)"),
        (b"\0\0\0\x18ftypisom\0\0\0\0isom", "a video"),
        (bytes(128) + b"DICM" + bytes(20), "a DICOM file (convert it to PNG)"),
        (encoded("TGA"), "a TGA picture (convert it to PNG)"),
        (encoded("TGA")[:-26], "a TGA picture (convert it to PNG)"),  # as the first version of TGA, without an end mark
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "a Git LFS pointer (fetch the real files with 'git lfs pull')",
        ),
    ],
)
def test_other_kinds_of_files_are_named(data: bytes, kind: str) -> None:
    assert failure(data) == ("ERROR_UNSUPPORTED", f"the content is {kind}, not a picture in a supported format")


def test_colour_space_that_cannot_be_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(image: Image.Image) -> Image.Image:  # as older versions of Pillow do with LAB
        raise ValueError("conversion from LAB to RGB not supported")

    monkeypatch.setattr("scanmix_cli.data.decode.to_rgb", refuse)
    assert failure(encoded("TIFF")) == ("ERROR_UNSUPPORTED", "conversion from LAB to RGB not supported")


@pytest.mark.parametrize(("width", "height"), [(60_000, 60_000), (14_000, 14_000)])
def test_decompression_bomb_is_not_decoded(width: int, height: int) -> None:
    code, message = failure(png_header(width, height))
    assert code == "ERROR_TOO_LARGE"
    assert "178956970" in message


def test_limit_holds_where_pillow_was_told_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert failure(png_header(14_000, 14_000)) == (
        "ERROR_TOO_LARGE",
        "14000 x 14000 pixels; at most 178956970 are read",
    )


@settings(deadline=None)
@given(
    file_format=st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM"]),
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8),
    keep=st.floats(0.1, 1),
)
@pytest.mark.filterwarnings("ignore")
def test_any_damage_gives_a_picture_or_a_code(file_format: str, damage: list[tuple[float, int]], keep: float) -> None:
    data = bytearray(encoded(file_format))
    for place, value in damage:
        data[int(place * len(data))] = value
    codes = ("VALID", "ERROR_CORRUPT_IMAGE", "ERROR_TRUNCATED_IMAGE", "ERROR_TOO_LARGE", "ERROR_UNSUPPORTED")
    assert outcome(bytes(data[: max(1, int(keep * len(data)))])) in codes


def outcome(data: bytes) -> str:
    try:
        array = decode_bytes(data, 16).pixels
    except DecodeError as error:
        return error.code
    return "VALID" if array.shape == (3, 16, 16) else "wrong shape"
