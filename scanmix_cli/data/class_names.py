"""Class names that probably mean the same class."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from scanmix_cli.data.wording import counted, quoted, shown

_RARE = 10  # a misspelt name has at most a tenth of the images of the right one
_SHORTEST = 5  # letters; between shorter words one letter makes too many real differences


def alike(names: tuple[str, ...]) -> list[str]:
    """One sentence for each group of names that are the same but for case, spaces, hyphens and underscores."""
    groups = defaultdict(list)
    for name in names:
        groups[_plain(name)].append(name)
    return [
        f"Classes {quoted(group)} differ only by {_difference(group)}; rename them if they are one class."
        for group in groups.values()
        if len(group) > 1
    ]


def _difference(names: list[str]) -> str:
    letters = {unicodedata.normalize("NFKC", name) for name in names}
    return "case, space or hyphen" if len(letters) > 1 else "the way their letters are stored"


def misspelt(counts: Mapping[str, int]) -> list[str]:
    """One sentence for each rare name that is one letter, or a plural's s, away from a frequent one."""
    found = []
    for one, other in sorted(_neighbours([name for name in counts if _plain(name).replace(" ", "").isalpha()])):
        rare, frequent = sorted((one, other), key=lambda name: counts[name])
        if counts[rare] * _RARE <= counts[frequent]:
            images = counted(counts[rare], "training image")
            found.append(
                f"Class '{shown(rare)}' ({images}) is spelt almost as '{shown(frequent)}' ({counts[frequent]}); "
                f"rename it if they are one class."
            )
    return found


def _plain(name: str) -> str:
    words = re.sub(r"[\s_-]+", " ", unicodedata.normalize("NFKC", name).casefold())
    return words.strip()


def _neighbours(names: list[str]) -> set[tuple[str, str]]:
    """Pairs of names that a dropped, added or changed letter parts, or two letters changed round."""
    shortened = defaultdict(list)
    for name in names:
        for short in set(_shortened(_plain(name))):
            shortened[short].append(name)
    pairs = {pair for group in shortened.values() for pair in combinations(sorted(group), 2)}
    return {pair for pair in pairs if _plain(pair[0]) != _plain(pair[1])}


def _shortened(word: str) -> Iterator[str]:
    """The word itself and without each of its letters; of a short word only without a final s."""
    yield word
    if len(word) >= _SHORTEST:
        yield from (word[:k] + word[k + 1 :] for k in range(len(word)))
    elif word.endswith("s"):
        yield word[:-1]
