"""Settings as TOML and back: nested dataclasses, every key known, every value of its type."""

import dataclasses
import difflib
import math
import types
import typing
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from scanmix_cli.errors import SettingsError

T = TypeVar("T")

POSITIVE = "positive"


@dataclass(frozen=True)
class Least:
    """Marks a whole number of which no smaller one makes sense; `or_zero`: 0 leaves it to the program to choose."""

    number: int
    or_zero: bool = False


@dataclass(frozen=True)
class Between:
    """Marks a whole number that is `least`, `most` or lies between them."""

    least: int
    most: int


SEEDS = Between(0, 2**32 - 1)  # what NumPy and scikit-learn take
PositiveInt = typing.Annotated[int, POSITIVE]  # a number of which 0 makes no sense; all others may be 0
PositiveFloat = typing.Annotated[float, POSITIVE]


def to_table(settings: Any) -> dict[str, Any]:
    """A dataclass as a nested TOML table; absent parts (None) are written as `false`."""
    return {f.name: _plain(getattr(settings, f.name)) for f in dataclasses.fields(settings)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_table(value)
    if isinstance(value, tuple):
        return list(value)
    return False if value is None else value


def from_table(kind: type[T], table: dict[str, Any], where: str, base: T | None = None) -> T:
    """Build dataclass `kind` from a table; keys left out come from `base` or their defaults.

    Raises SettingsError naming the key, the nearest known key, or the type expected; `where` names the file.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    for key in table:
        if key not in hints:
            near = difflib.get_close_matches(key, hints, n=1, cutoff=0.0)
            raise SettingsError(f"{where}: unknown key {key!r}; the nearest known key is {near[0]!r}")
    values = {
        key: _typed(hints[key], value, f"{where}: {key}", getattr(base, key, None)) for key, value in table.items()
    }
    if base is not None:
        return dataclasses.replace(base, **values)  # type: ignore[type-var]
    try:
        return kind(**values)
    except TypeError:
        missing = [f.name for f in dataclasses.fields(kind) if f.name not in values and _required(f)]  # type: ignore[arg-type]
        raise SettingsError(f"{where}: missing key {missing[0]!r}; add it") from None


def _required(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _typed(hint: Any, value: Any, where: str, base: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if typing.get_origin(hint) is typing.Annotated:
        kind, limit = typing.get_args(hint)
        return limited(_typed(kind, value, where, base), limit, where)
    if isinstance(hint, types.UnionType):
        inner = next(part for part in typing.get_args(hint) if part is not type(None))
        return None if value is False and inner is not bool else _typed(inner, value, where, base)
    if typing.get_origin(hint) is typing.Literal:
        if (type(value), value) not in [(type(one), one) for one in typing.get_args(hint)]:  # 2.0 is not 2
            choices = ", ".join(str(one) or "''" for one in typing.get_args(hint))
            raise SettingsError(f"{where} must be one of {choices}; got {value!r}")
        return value
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise SettingsError(f"{where} must be a table of settings; got {value!r}")
        return from_table(typing.cast(type, hint), value, where, base)
    if typing.get_origin(hint) is tuple:
        inner, *others = typing.get_args(hint)
        wanted = None if ... in others else 1 + len(others)
        if not isinstance(value, list) or len(value) != (wanted or len(value)):
            count = f" of {wanted} entries" if wanted else ""
            raise SettingsError(f"{where} must be a list{count}, each {_name(inner)}; got {value!r}")
        return tuple(_typed(inner, item, where, None) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise SettingsError(f"{where} must be {_name(hint)}; got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f"{where} must be a finite number; got {value!r}")
    if isinstance(value, int | float) and value < 0:
        raise SettingsError(f"{where} must not be negative; got {value!r}")
    return value


def limited(number: Any, limit: Any, where: str) -> Any:
    """The number, if its limit, POSITIVE, a `Least` or a `Between`, allows it; else SettingsError."""
    if isinstance(limit, Between):
        if not limit.least <= number <= limit.most:
            raise SettingsError(f"{where} must be from {limit.least} to {limit.most}; got {number!r}")
    elif limit == POSITIVE:
        if number == 0:
            raise SettingsError(f"{where} must be greater than 0; got {number!r}")
    elif number < limit.number and not (number == 0 and limit.or_zero):
        chosen = " (0: chosen for you)" if limit.or_zero else ""
        raise SettingsError(f"{where} must be {limit.number} or more{chosen}; got {number!r}")
    return number


def _name(kind: type) -> str:
    return {int: "a whole number", float: "a number", str: "text", bool: "true or false"}.get(kind, str(kind))
