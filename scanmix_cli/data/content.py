"""What the bytes of a file are when they are no readable picture: something else, or a picture cut short."""

_FOREIGN = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"version https://git-lfs", "a Git LFS pointer (fetch the real files with 'git lfs pull')"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"8BPS", "a Photoshop document"),
    (b"%!PS", "a PostScript document"),
    (b"\x1a\x45\xdf\xa3", "a video"),
)
_ISO_BRANDS = {
    **dict.fromkeys(
        (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"), "a HEIC picture (convert it to JPEG)"
    ),
    **dict.fromkeys((b"isom", b"iso2", b"mp41", b"mp42", b"qt  ", b"M4V ", b"avc1"), "a video"),
}
_TGA_HEADER = 18  # bytes
_ISO_HEADERS = (b"ftyp", b"jP  ")


def foreign_kind(data: bytes) -> str | None:
    """What a file is that is no picture in a supported format, None where the bytes tell nothing."""
    for magic, kind in _FOREIGN:
        if data.startswith(magic):
            return kind
    if data[4:8] == b"ftyp":
        return _ISO_BRANDS.get(data[8:12])
    if data[128:132] == b"DICM":
        return "a DICOM file (convert it to PNG)"
    if _is_tga(data):
        return "a TGA picture (convert it to PNG)"
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "an HTML page"
    return "an SVG drawing" if b"<svg" in head else None


def _is_tga(data: bytes) -> bool:
    """Whether the file ends with the mark of TGA or, as older ones without it, starts with the header of a picture.

    Such a header alone proves too little to decode by it: garbage would pass for a picture.
    """
    if data.endswith(b"TRUEVISION-XFILE.\0"):
        return True
    if len(data) <= _TGA_HEADER or not any(data[12:14]) or not any(data[14:16]):
        return False
    palette, kind, palette_bits, bits = data[1], data[2], data[7], data[16]
    if kind in (1, 9):
        return palette == 1 and palette_bits in (15, 16, 24, 32) and bits == 8
    return kind in (2, 3, 10, 11) and not any(data[1:2] + data[3:8]) and bits in (8, 15, 16, 24, 32)


def ends_early(data: bytes) -> bool:
    """Whether a picture's own marks say that bytes are missing at its end."""
    if data.startswith(b"\xff\xd8"):
        return b"\xff\xd9" not in data[-64:]
    if data.startswith(b"\x89PNG"):
        return b"IEND" not in data[-64:]
    if data.startswith(b"GIF8"):
        return b";" not in data[-64:]
    if data.startswith(b"RIFF"):
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    if data.startswith((b"II*\0", b"MM\0*")):
        return int.from_bytes(data[4:8], "little" if data[:1] == b"I" else "big") >= len(data)
    return data[4:8] in _ISO_HEADERS and _boxes_end(data) > len(data)


def _boxes_end(data: bytes) -> int:
    """Where the last box of an ISO file (AVIF, JPEG 2000) says that it ends."""
    position = 0
    while position + 8 <= len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        if length == 1:
            length = int.from_bytes(data[position + 8 : position + 16], "big")
        if length < 8:  # 0 means: up to the end of the file
            return len(data)
        position += length
    return position
