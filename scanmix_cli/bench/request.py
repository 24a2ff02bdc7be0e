"""What a user asked of `scanmix bench`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scanmix_cli.bench.datasets import DATASETS
from scanmix_cli.bench.noise import RECIPES
from scanmix_cli.engine.config import SEEDS, limited
from scanmix_cli.engine.run_folder import is_run
from scanmix_cli.errors import SettingsError
from scanmix_cli.method.methods import METHODS
from scanmix_cli.workflow.request import PROFILES

CLEANLAB = "cleanlab"
KNOWN_METHODS = (*METHODS, CLEANLAB)
PRETRAINED = ("scan", "pretrain+dividemix", "scanmix")  # methods that start from the contrastive encoder
DEFAULT_METHODS = ("cross-entropy", "dividemix", "pretrain+dividemix", "scanmix")
DRAWN = ("sym", "asym")  # noise that a recipe draws; everything else is read
SEMANTIC = ("semantic-densenet", "semantic-resnet", "semantic-vgg")
HUMAN = {"cifar10": ("human-aggre", "human-rand1", "human-worst"), "cifar100": ("human",)}
FILE = "file:"
NOISES = ("none", *DRAWN, *SEMANTIC, *HUMAN["cifar10"], *HUMAN["cifar100"])
OWN_NOISE = {"red-mini-imagenet": ("red", "blue"), "webvision": ("web",), "clothing1m": ("web",)}
LEVELLED = "red-mini-imagenet"  # comes with its noise at several levels
DEFAULT_RATE = 0.4


@dataclass(frozen=True)
class BenchRequest:
    """Options of `scanmix bench`; 0 and "" mean: let the plan decide."""

    target: str  # name of a data set, or a path
    out: Path
    data_dir: Path
    noise: str = ""
    rate: float | None = None
    recipe: str = "dividemix"
    noise_map: Path | None = None
    methods: tuple[str, ...] = DEFAULT_METHODS
    profile: str = "auto"
    seed: int = 0
    repeats: int = 1
    download: bool = True
    time_budget: float = 0.0  # seconds for each method, after the shared pre-training; 0: no limit
    epochs: int = 0
    pretrain_epochs: int = 0
    clean_ceiling: bool = False
    device: str = "auto"
    command: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)  # how to read `target`: options of `read_samples`

    def __post_init__(self) -> None:
        """Raises SettingsError for everything that can be seen without reading the data."""
        limited(self.seed, SEEDS, "options: seed")
        limited(self.seeds[-1], SEEDS, f"options: the last of {self.repeats} seeds")
        check_out(self.out)
        check_target(self.target)
        check_source(self.target, self.source)
        check_methods(self.methods)
        check_noise(self.target, self.noise)
        self._check_rate()
        if self.recipe not in RECIPES:
            raise SettingsError(f"unknown noise recipe {self.recipe!r}: choose one of {', '.join(RECIPES)}")
        if self.profile not in PROFILES:
            raise SettingsError(f"unknown profile {self.profile!r}; choose one of {', '.join(PROFILES)}")
        if self.recipe == "exact" and self.kind == "asym":
            raise SettingsError("the recipe exact goes with --noise sym only: leave --recipe out")
        if self.noise_map is not None and self.kind != "asym":
            raise SettingsError("--noise-map goes with --noise asym only: leave it out")

    def _check_rate(self) -> None:
        if self.rate is None:
            return
        if not 0 <= self.rate <= 1:
            raise SettingsError(f"noise rate {self.rate:g} is outside 0 to 1: give a share such as 0.4")
        if self.nominal_rate != self.rate:
            if self.kind == "none":
                raise SettingsError("--noise none takes the labels as they are: leave --rate out")
            noise = self.kind or self.target
            raise SettingsError(f"{noise} labels are taken as they are and have no rate to choose: leave --rate out")

    @property
    def kind(self) -> str:
        """The noise asked for: by default sym on clean sets, "" on those that come with theirs."""
        return self.noise or ("" if self.target in OWN_NOISE else "sym")

    @property
    def nominal_rate(self) -> float | None:
        """The rate of drawn noise and of mini-ImageNet's levels, 0 without noise, None where noise has no such rate."""
        if self.kind in DRAWN or self.target == LEVELLED:
            return DEFAULT_RATE if self.rate is None else self.rate
        return 0.0 if self.kind == "none" else None

    @property
    def is_own(self) -> bool:
        """The data are a folder or table of the user's."""
        return self.target not in DATASETS

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.repeats)


def check_out(out: Path) -> None:
    """A folder, there or not, that is no run of `train`: the two would mix."""
    if out.is_file():
        raise SettingsError(f"--out {out} is a file: name a folder")
    if is_run(out):
        raise SettingsError(f"--out {out} is the folder of a run of `scanmix train`: name another one")


def check_target(target: str) -> None:
    """A known data set or something that exists."""
    if target not in DATASETS and not Path(target).exists():
        raise SettingsError(
            f"{target!r} is neither a data set nor a path that exists: choose one of {', '.join(DATASETS)}, "
            "or name a folder or table with clean labels"
        )


def check_source(target: str, source: Mapping[str, Any]) -> None:
    """Options that say how a folder or table is read go with one."""
    given = [f"--{name.replace('_', '-')}" for name, value in source.items() if value is not None]
    if given and target in DATASETS:
        raise SettingsError(f"{given[0]} goes with a folder or table of your own, not with {target}: leave it out")


def check_methods(methods: tuple[str, ...]) -> None:
    """Known names, at least one."""
    for method in methods:
        if method not in KNOWN_METHODS:
            raise SettingsError(f"unknown method {method!r}: choose from {', '.join(KNOWN_METHODS)}")
    if not methods:
        raise SettingsError(f"--methods is empty: choose from {', '.join(KNOWN_METHODS)}")


def check_noise(target: str, noise: str) -> None:
    """Known names; sets that come with their noise take no other."""
    own = OWN_NOISE.get(target)
    if own is not None:
        if noise and noise not in own:
            raise SettingsError(f"{target} comes with its own noise: leave --noise out or choose {' or '.join(own)}")
    elif noise and noise not in NOISES and not noise.startswith(FILE):
        raise SettingsError(f"unknown noise {noise!r}: choose one of {', '.join(NOISES)}, file:PATH")
    elif noise.startswith("human") and noise not in HUMAN.get(target, ()):
        known = "; ".join(f"{name}: {', '.join(names)}" for name, names in HUMAN.items())
        raise SettingsError(f"there are no {noise} labels of {target} ({known}): choose one of these or file:PATH")
