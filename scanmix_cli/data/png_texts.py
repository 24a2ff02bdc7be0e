"""PNG files without the large texts in them, which image libraries refuse to unpack."""

import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST = 1 << 16  # bytes: EXIF data and the usual XMP, which say how the picture is turned, are smaller


def without_large_texts(png: bytes) -> bytes:
    """The file without its texts and colour profiles of more than `MOST` bytes; what is no PNG file as it is."""
    if not png.startswith(SIGNATURE):
        return png
    kept, at = [SIGNATURE], len(SIGNATURE)
    while at < len(png):
        end = at + 12 + int.from_bytes(png[at : at + 4], "big")  # length, kind, content, checksum
        if not _is_large_text(png[at + 4 : at + 8], png[at + 8 : end - 4]):
            kept.append(png[at:end])
        at = end
    return b"".join(kept)


def _is_large_text(kind: bytes, content: bytes) -> bool:
    """Whether it is one, told without unpacking more than `MOST` bytes."""
    if kind not in (b"tEXt", b"zTXt", b"iTXt", b"iCCP"):
        return False
    rest = content.partition(b"\0")[2]  # behind the keyword or the name of the profile
    if kind == b"tEXt" or (kind == b"iTXt" and rest[:1] == b"\0"):
        return len(rest) > MOST
    packed = rest[1:] if kind != b"iTXt" else rest[2:].split(b"\0", 2)[-1]  # behind language and translated keyword
    unpacking = zlib.decompressobj()
    try:
        unpacking.decompress(packed, MOST)
    except zlib.error:
        return False
    return bool(unpacking.unconsumed_tail)
