"""Words that messages share."""

_NAMED = 5


def counted(count: int, noun: str) -> str:
    """`1 image`, `2 images`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def quoted(names: list[str]) -> str:
    """`'a', 'b' and 3 more`: the first names of a list that may be long."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:_NAMED]) + more
