"""What a user asked of a training run, apart from the data."""

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

from scanmix_cli.data.pixels import SKIP
from scanmix_cli.engine.config import SEEDS, Least, from_table
from scanmix_cli.errors import SettingsError
from scanmix_cli.files import read_toml
from scanmix_cli.method.settings import LEAST_BATCH, LEAST_SIZE, Profile
from scanmix_cli.profiles import fast

LARGE_SETS = ("webvision", "clothing1m")  # profiles of these names are their rows of `paper`
PROFILES = ("auto", "fast", "paper", "official", *LARGE_SETS)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


@dataclass(frozen=True)
class Request:
    """Options of `scanmix train`; 0 and "" mean: let the plan decide."""

    profile: str = "auto"
    backbone: str = ""
    weights: str = "auto"  # outside weights: auto, none, a file or a name, see `workflow.weights`
    image_size: Annotated[int, Least(LEAST_SIZE, or_zero=True)] = 0
    epochs: int = 0
    pretrain_epochs: int = 0
    time_budget: float = 0.0  # seconds; 0: no limit
    batch_size: Annotated[int, Least(LEAST_BATCH, or_zero=True)] = 0
    seed: Annotated[int, SEEDS] = 0
    device: str = "auto"
    precision: str = "auto"
    workers: int = 0
    reviewed: str = ""  # run whose decisions are trusted labels
    truncated: str = SKIP  # what becomes of image files cut short: see `data.pixels.TRUNCATED`


def parse_duration(text: str) -> float:
    """Seconds from `90`, `60s`, `10m`, `1.5h`; SettingsError for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise SettingsError(f"--time-budget {text!r} is no duration; write for example 60s, 10m or 1.5h")
    return float(match[1]) * _UNITS[match[2]]


@dataclass(frozen=True)
class FailOn:
    """`--fail-on`: exit 1 when more than this many labels, or this share of them, are suspect."""

    limit: float
    is_share: bool

    def exceeded(self, issues: int, labelled: int) -> bool:
        """Whether `issues` suspects among `labelled` images are too many."""
        return issues > (self.limit * labelled if self.is_share else self.limit)


def parse_fail_on(text: str) -> FailOn:
    """`25` is a count, `5%` a share, of all at most; SettingsError for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    if match is None:
        raise SettingsError(f"--fail-on {text!r} is neither a count nor a share; write for example 25 or 5%")
    limit = FailOn(float(match[1]) / (100 if match[2] else 1), bool(match[2]))
    if limit.is_share and limit.limit > 1:
        raise SettingsError(f"--fail-on {text!r} is more than all labels; give a share of 100% or less, or a count")
    return limit


@dataclass(frozen=True)
class Given:
    """A `[profile]` table from a configuration file: all settings of an earlier run, or some to change."""

    table: dict[str, Any]
    where: str

    def profile(self, base: Profile) -> Profile:
        """The settings of the table over those of `base`."""
        return from_table(Profile, self.table, self.where, base)


def read_request(config: Path | None, chosen: dict[str, Any]) -> tuple[Request, Given | None]:
    """Options over the configuration file over the defaults; the profile table if the file holds one.

    A profile named on the command line replaces the one of the file. Raises SettingsError for an unknown key or a value
    of the wrong kind.
    """
    asked = {name: value for name, value in chosen.items() if value is not None}
    if config is None:
        return from_table(Request, asked, "options"), None
    table = read_toml(config)
    if unknown := sorted(set(table) - {"run", "profile"}):
        raise SettingsError(f"{config}: unknown table {unknown[0]!r}; the known ones are 'run' and 'profile'")
    request = from_table(Request, table.get("run", {}), f"{config}: run")
    given = None
    if "profile" in table and "profile" not in asked:
        given = Given(table["profile"], f"{config}: profile")
        given.profile(fast.CPU)  # a mistake is found before anything slow
        if set(given.table) == {
            field.name for field in fields(Profile)
        }:  # resolved: the request that led to it is spent
            spent: dict[str, Any] = {
                "epochs": 0,
                "pretrain_epochs": 0,
                "batch_size": 0,
                "image_size": 0,
                "backbone": "",
                "weights": "",
            }
            request = replace(request, **spent, time_budget=0.0)
    return from_table(Request, asked, "options", request), given
