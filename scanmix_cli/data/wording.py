"""Words that messages share."""

_NAMED = 5


def counted(count: int, noun: str) -> str:
    """`1 image`, `2 images`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shown(name: str) -> str:
    """A name within a sentence: line ends and other control characters as escapes, stray bytes as `\\xff`."""
    return "".join(mark if mark.isprintable() else _escape(mark) for mark in name)


def printable(text: str, encoding: str) -> str:
    """The text without control characters (a file name may hold a terminal's escape codes) and within the encoding."""
    shown = "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in text)
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def _escape(mark: str) -> str:
    stray = "\udc80" <= mark <= "\udcff"
    return f"\\x{ord(mark) - 0xDC00:02x}" if stray else mark.encode("unicode_escape").decode("ascii")


def valid(name: str) -> str:
    """The name itself where it is valid Unicode, with stray bytes as `\\xff` where it is not."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def quoted(names: list[str]) -> str:
    """`'a', 'b' and 3 more`: the first names of a list that may be long."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"'{shown(name)}'" for name in names[:_NAMED]) + more
