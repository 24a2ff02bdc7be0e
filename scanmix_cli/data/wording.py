"""Words that messages share."""

import re

from scanmix_cli.legible import legible

_NAMED = 5
_STRAY = re.compile("[\udc80-\udcff]")


def counted(count: int, noun: str) -> str:
    """`1 image`, `2 images`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shown(name: str) -> str:
    """A name within a sentence: line ends and other control characters as escapes, stray bytes as `\\xff`."""
    return legible(_STRAY.sub(lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", name))


def printable(text: str, encoding: str) -> str:
    """The text without control characters (a file name may hold a terminal's escape codes) and within the encoding."""
    return legible(text).encode(encoding, "backslashreplace").decode(encoding)


def valid(name: str) -> str:
    """The name itself where it is valid Unicode, with stray bytes as `\\xff` where it is not."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def quoted(names: list[str]) -> str:
    """`'a', 'b' and 3 more`: the first names of a list that may be long."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"'{shown(name)}'" for name in names[:_NAMED]) + more
