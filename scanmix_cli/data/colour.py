"""Every pixel format to RGB, so that a picture looks the same whatever it was stored as."""

import numpy as np
from PIL import Image

_BIT_DEPTHS = (8, 12, 16)
_MODE_NAMES = {
    "1": "1-bit",
    "L": "grey",
    "LA": "grey with alpha",
    "P": "palette",
    "PA": "palette with alpha",
    "RGBA": "RGB with alpha",
    "I": "32-bit grey",
    "F": "float grey",
}


def mode_name(mode: str) -> str:
    """A pixel mode of Pillow in words: `L` is `grey`."""
    return "16-bit grey" if mode.startswith("I;16") else _MODE_NAMES.get(mode, mode)


def to_rgb(image: Image.Image) -> Image.Image:
    """RGB picture of the same size: transparency on white, deep grey scaled by its range.

    Raises ValueError for a colour space that Pillow cannot convert, such as LAB.
    """
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return Image.fromarray(_eight_bit(np.asarray(image))).convert("RGB")
    if image.has_transparency_data:
        picture = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), picture).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _eight_bit(values: np.ndarray) -> np.ndarray:
    """Deep grey (height, width) as uint8.

    Unsigned integers are scaled by the smallest usual bit depth that holds the brightest pixel: cameras and scanners
    store 12 bits in 16. Floats are taken as 0..1 or 0..255; whatever lies outside these ranges is stretched from its
    darkest to its brightest value.
    """
    values = np.nan_to_num(values, posinf=0.0, neginf=0.0) if values.dtype.kind == "f" else values
    low, high = float(values.min()), float(values.max())
    if low < 0 or high >= 2 ** _BIT_DEPTHS[-1]:
        scale = 255.0 / (high - low) if high > low else 0.0
    elif values.dtype.kind == "f":
        low, scale = 0.0, 255.0 if high <= 1 else 1.0 if high <= 255 else 255.0 / high
    else:
        bits = next(depth for depth in _BIT_DEPTHS if high < 2**depth)
        low, scale = 0.0, 255.0 / (2**bits - 1)
    return np.rint((values - np.float32(low)) * np.float32(scale)).astype(np.uint8)
