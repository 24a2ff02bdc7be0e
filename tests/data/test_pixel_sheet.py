"""The pixel-format sheet: the same picture in every mode and container, decoded and compared with its RGB twin.

Largest deviation of any value, 0 to 255: the sum of what the mode and what the container may cost.
"""

import io

import numpy as np
import PIL
import pytest
from image_files import smooth_picture
from PIL import Image, ImageCms, features

from scanmix_cli.data.decode import decode_bytes

SIZE = 48
RGB = smooth_picture(SIZE, SIZE)
GREY = RGB.convert("L")


def faded(image: Image.Image) -> tuple[Image.Image, Image.Image]:
    """The picture with an alpha channel that falls to the right, and what that looks like on white paper."""
    colour = np.asarray(image).reshape(SIZE, SIZE, -1).astype(float)
    alpha = np.broadcast_to(np.linspace(255, 0, SIZE).round(), (SIZE, SIZE))
    on_white = colour * alpha[..., None] / 255 + 255 - alpha[..., None]
    layer = Image.fromarray(alpha.astype(np.uint8))
    transparent = image.copy()
    transparent.putalpha(layer)
    return transparent, Image.fromarray(np.rint(on_white).astype(np.uint8).squeeze())


def deep(scale: int, kind: type) -> Image.Image:
    return Image.fromarray(np.asarray(GREY).astype(kind) * kind(scale))


def grey_and_alpha_on_palette() -> tuple[Image.Image, Image.Image]:
    transparent, _ = faded(RGB)
    image = transparent.convert("PA")
    return image, faded(image.convert("RGB"))[1]


def sources() -> dict[str, tuple[Image.Image, Image.Image, int]]:
    """Mode to picture, RGB twin and tolerance."""
    one_bit, paletted = RGB.convert("1"), RGB.quantize(64)
    return {
        "1": (one_bit, one_bit.convert("L"), 0),
        "L": (GREY, GREY, 0),
        "LA": (*faded(GREY), 1),
        "P": (paletted, paletted.convert("RGB"), 0),
        "PA": (*grey_and_alpha_on_palette(), 1),
        "RGB": (RGB, RGB, 0),
        "RGBA": (*faded(RGB), 1),
        "RGBX": (RGB.convert("RGBX"), RGB, 0),
        "CMYK": (RGB.convert("CMYK"), RGB, 0),
        "YCbCr": (RGB.convert("YCbCr"), RGB, 3),
        "LAB": (*lab_and_back(), 1),
        "HSV": (RGB.convert("HSV"), RGB, 6),
        "I;16": (deep(257, np.uint16), GREY, 0),
        "I;16B": (Image.frombytes("I;16B", (SIZE, SIZE), (np.asarray(GREY) * np.array(257, ">u2")).tobytes()), GREY, 0),
        "I": (deep(1, np.int32), GREY, 0),
        "F": (Image.fromarray(np.asarray(GREY) / np.float32(255)), GREY, 0),
    }


def lab_and_back() -> tuple[Image.Image, Image.Image]:
    """Eight bits of LAB do not hold every RGB colour, so the twin is what colour management makes of them."""
    srgb, lab = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    image = ImageCms.applyTransform(RGB, ImageCms.buildTransform(srgb, lab, "RGB", "LAB"))
    return image, ImageCms.applyTransform(image, ImageCms.buildTransform(lab, srgb, "LAB", "RGB"))


COMMON = ("1", "L", "P", "RGB", "RGBA")
# container to Pillow's name, options, tolerance, modes that it stores
CONTAINERS: dict[str, tuple[str, dict[str, object], int, tuple[str, ...]]] = {
    "JPEG": ("JPEG", {"quality": 100, "subsampling": 0}, 3, ("1", "L", "RGB", "RGBX", "CMYK", "YCbCr")),
    "progressive JPEG": ("JPEG", {"quality": 100, "subsampling": 0, "progressive": True}, 3, ("L", "RGB", "CMYK")),
    "phone JPEG (MPO)": ("MPO", {"quality": 100, "subsampling": 0}, 3, ("L", "RGB", "CMYK")),
    "PNG": ("PNG", {}, 0, (*COMMON, "LA", "I;16", "I;16B")),
    "BMP": ("BMP", {}, 0, ("1", "L", "P", "RGB")),
    "GIF": ("GIF", {}, 0, ("1", "L", "P")),
    "WebP": ("WEBP", {"lossless": True, "exact": True}, 0, (*COMMON, "LA", "CMYK", "YCbCr", "HSV")),
    "lossy WebP": ("WEBP", {"quality": 100}, 10, ("L", "RGB", "RGBA")),
    "TIFF": ("TIFF", {}, 0, (*COMMON, "LA", "PA", "RGBX", "CMYK", "YCbCr", "LAB", "I;16", "I;16B", "I", "F")),
    "TIFF with LZW": ("TIFF", {"compression": "tiff_lzw"}, 0, ("L", "P", "RGB", "RGBA", "CMYK", "I;16")),
    "TIFF with Deflate": ("TIFF", {"compression": "tiff_adobe_deflate"}, 0, ("L", "RGB", "I;16")),
    "TIFF with JPEG": ("TIFF", {"compression": "jpeg", "quality": 100}, 6, ("L", "RGB")),
    "fax TIFF": ("TIFF", {"compression": "group4"}, 0, ("1",)),
    "PPM": ("PPM", {}, 0, ("1", "L", "RGB", "I;16", "F")),
    "JPEG 2000": ("JPEG2000", {}, 0, ("L", "LA", "RGB", "RGBA", "I;16")),
    "ICO": ("ICO", {"sizes": [(SIZE, SIZE)]}, 0, ("RGB", "RGBA")),
    "QOI": ("QOI", {}, 0, ("RGB", "RGBA")),
    "AVIF": ("AVIF", {"quality": 100, "subsampling": "4:4:4"}, 4, ("L", "RGB", "RGBA")),
}  # fmt: skip
CELLS = [(container, mode) for container, (*_, modes) in CONTAINERS.items() for mode in modes]
NEEDS = {"AVIF": "avif", "JPEG 2000": "jpg_2000", "WebP": "webp", "lossy WebP": "webp"}


@pytest.mark.parametrize(("container", "mode"), CELLS, ids=lambda part: part)
def test_cell_of_the_sheet_equals_its_twin(container: str, mode: str) -> None:
    if container in NEEDS and not features.check(NEEDS[container]):
        pytest.skip(f"this Pillow was built without {container}")
    if (container, mode) == ("TIFF", "YCbCr") and int(PIL.__version__.partition(".")[0]) < 13:
        pytest.skip("what Pillow 12 writes there it cannot read itself")
    file_format, options, cost, _ = CONTAINERS[container]
    image, twin, tolerance = sources()[mode]
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    decoded = decode_bytes(buffer.getvalue(), SIZE)
    assert decoded.size == (SIZE, SIZE)
    expected = np.asarray(twin.convert("RGB")).transpose(2, 0, 1).astype(int)
    assert np.abs(decoded.pixels - expected).max() <= tolerance + cost


def test_every_mode_is_on_the_sheet() -> None:
    assert {mode for _, mode in CELLS} == set(sources())
    assert len(CELLS) > 70
