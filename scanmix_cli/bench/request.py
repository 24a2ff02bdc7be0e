"""What a user asked of `scanmix bench`."""

from dataclasses import dataclass
from pathlib import Path

from scanmix_cli.bench.datasets import DATASETS
from scanmix_cli.bench.noise import RECIPES
from scanmix_cli.errors import SettingsError
from scanmix_cli.method.methods import METHODS
from scanmix_cli.workflow.request import PROFILES

CLEANLAB = "cleanlab"
KNOWN_METHODS = (*METHODS, CLEANLAB)
PRETRAINED = ("scan", "pretrain+dividemix", "scanmix")  # methods that start from the contrastive encoder
DEFAULT_METHODS = ("cross-entropy", "dividemix", "pretrain+dividemix", "scanmix")
DRAWN = ("sym", "asym")  # noise that a recipe draws; everything else is read
SEMANTIC = ("semantic-densenet", "semantic-resnet", "semantic-vgg")
HUMAN = ("human-aggre", "human-rand1", "human-worst")
FILE = "file:"
NOISES = ("none", *DRAWN, *SEMANTIC, *HUMAN)
OWN_NOISE = {"red-mini-imagenet": ("red", "blue"), "webvision": ("web",), "clothing1m": ("web",)}
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

    def __post_init__(self) -> None:
        """Raises SettingsError for everything that can be seen without reading the data."""
        check_target(self.target)
        check_methods(self.methods)
        check_noise(self.target, self.noise)
        if self.recipe not in RECIPES:
            raise SettingsError(f"unknown noise recipe {self.recipe!r}: choose one of {', '.join(RECIPES)}")
        if self.profile not in PROFILES:
            raise SettingsError(f"unknown profile {self.profile!r}; choose one of {', '.join(PROFILES)}")
        if self.rate is not None and not 0 <= self.rate <= 1:
            raise SettingsError(f"noise rate {self.rate:g} is outside 0 to 1: give a share such as 0.4")
        if self.recipe == "exact" and self.noise == "asym":
            raise SettingsError("the recipe exact goes with --noise sym only: leave --recipe out")

    @property
    def own_rate(self) -> float | None:
        """The nominal level of a set that comes with its noise, None where it has no level."""
        if self.target != "red-mini-imagenet":
            return None
        return DEFAULT_RATE if self.rate is None else self.rate

    @property
    def is_own(self) -> bool:
        """The data are a folder or table of the user's."""
        return self.target not in DATASETS

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.repeats)


def check_target(target: str) -> None:
    """A known data set or something that exists."""
    if target not in DATASETS and not Path(target).exists():
        raise SettingsError(
            f"{target!r} is neither a data set nor a path that exists: choose one of {', '.join(DATASETS)}, "
            "or name a folder or table with clean labels"
        )


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
