"""Text that others wrote, as a person may be shown it."""

_JOINERS = "\u200c\u200d"  # hold emoji, and words of several scripts, together


def legible(text: str) -> str:
    """The text with escapes in place of what a terminal would obey and of what is no text: control characters, marks
    that turn the reading direction, bytes that are no UTF-8."""
    return "".join(
        mark if mark.isprintable() or mark in _JOINERS else mark.encode("unicode_escape").decode("ascii")
        for mark in text
    )
