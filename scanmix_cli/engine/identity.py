"""What a run was begun with, so that it goes on with the same or not at all."""

import json
import re
from pathlib import Path
from typing import Any

from scanmix_cli.errors import SettingsError
from scanmix_cli.files import write_text

IDENTITY = "identity.json"  # beside the checkpoints
NAMED = 3  # so many differences are named


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """A nested table as `mixmatch.epochs` -> `"10"`."""
    found: dict[str, str] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        found |= flat(value, f"{name}.") if isinstance(value, dict) else {name: json.dumps(value)}
    return found


def fingerprint(identity: dict[str, str]) -> str:
    """One text for all of it, kept in every checkpoint."""
    return json.dumps(identity, sort_keys=True)


def remember(checkpoints: Path, identity: dict[str, str]) -> None:
    """Write down what the run is made of."""
    checkpoints.mkdir(parents=True, exist_ok=True)
    write_text(checkpoints / IDENTITY, json.dumps(identity, indent=1) + "\n")


def check_same(checkpoints: Path, identity: dict[str, str]) -> None:
    """SettingsError naming what differs from the run that left these checkpoints; no difference where there are none.

    Touches nothing. A damaged note says nothing: every checkpoint has the fingerprint as well.
    """
    try:
        begun = json.loads((checkpoints / IDENTITY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if not isinstance(begun, dict) or begun == identity:
        return
    names = [name for name in {**begun, **identity} if begun.get(name) != identity.get(name)]
    told = [_difference(name, begun.get(name), identity.get(name)) for name in names[:NAMED]]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    raise SettingsError(
        f"{checkpoints.parent} was begun with other data or settings ({'; '.join(told)}{more}); resume with the same "
        "ones, or start anew with --overwrite"
    )


def _difference(name: str, before: str | None, now: str | None) -> str:
    if before is not None and now is not None and re.fullmatch(r'"?[0-9a-f]{64}"?', now):
        return f"other {name}"
    return f"{name} {'missing' if before is None else before} then, {'missing' if now is None else now} now"
