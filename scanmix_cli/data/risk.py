"""Which files are decoded in the process itself, and which in one that may get stuck or die."""

CALM_PIXELS = 32_000_000  # more take memory by the gigabyte
CALM_SCANS = 64  # a progressive JPEG has about ten; each one more goes over the whole picture again
_SIZE_MARKERS = frozenset({0xC0, 0xC1, 0xC2})  # the JPEG start-of-frame markers that Pillow decodes


def is_calm(data: bytes) -> bool:
    """Whether decoding is sure to end soon: a JPEG, PNG or BMP of ordinary size, by its first bytes.

    Their decoders have been tried by everybody, let other threads work meanwhile and do work in proportion to the size.
    """
    if data.startswith(b"\xff\xd8"):
        return _jpeg_pixels(data) <= CALM_PIXELS and data.count(b"\xff\xda") <= CALM_SCANS
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _product(data[16:20], data[20:24], "big") <= CALM_PIXELS
    if data.startswith(b"BM"):
        return _product(data[18:22], data[22:26], "little") <= CALM_PIXELS
    return not data


def _product(width: bytes, height: bytes, order: str) -> int:
    return abs(_whole(width, order) * _whole(height, order))


def _whole(number: bytes, order: str) -> int:
    return int.from_bytes(number, "little" if order == "little" else "big", signed=True)


def _jpeg_pixels(data: bytes) -> int:
    """Width times height as the frame header says, 0 where there is none."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _SIZE_MARKERS:
            return int.from_bytes(data[at + 5 : at + 7], "big") * int.from_bytes(data[at + 7 : at + 9], "big")
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0
