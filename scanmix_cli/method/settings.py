"""Settings of every stage: frozen dataclasses, one a stage, gathered in `Profile`.

Profiles (`scanmix_cli.profiles`) are instances of these; `config.toml` is their text form.
Augmentations are named by `scanmix_cli.augment.names`.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from scanmix_cli.augment.names import ViewName
from scanmix_cli.engine.config import Least, PositiveFloat, PositiveInt

LEAST_BATCH = 2  # images: what a batch norm needs
LEAST_SIZE = 8  # pixels a side
BatchSize = Annotated[int, Least(LEAST_BATCH)]
ImageSize = Annotated[int, Least(LEAST_SIZE)]
Normalisation = tuple[float, float, float]
Spread = tuple[PositiveFloat, PositiveFloat, PositiveFloat]


@dataclass(frozen=True)
class ContrastiveSettings:
    """Contrastive pre-training: SimCLR for small images, MoCo-v2 for large ones."""

    objective: Literal["simclr", "moco"] = "simclr"
    epochs: int = 500
    batch_size: BatchSize = 512
    views: Literal[2, 4, 8] = 2  # SimCLR only: so many of every image of a batch
    learning_rate: float = 0.4
    final_rate_share: float = 0.001  # cosine schedule ends at learning_rate times this
    rising_steps: int = 0  # SimCLR only: the rate rises linearly over so many first steps
    momentum: float = 0.9
    weight_decay: float = 1e-4
    temperature: PositiveFloat = 0.1
    symmetric: bool = False  # False: only first views are anchors, as in the release
    decoupled: bool = False  # SimCLR only: an image's other view is not among what it is told apart from
    view: ViewName = "simclr"
    crop: PositiveFloat = 1.0  # side of the views, in image sizes: small ones make cheap epochs
    queue_size: PositiveInt = 65536  # MoCo only
    key_momentum: float = 0.999  # MoCo only
    max_images: int = 0  # 0: all; Clothing1M pre-trains on 100,000


@dataclass(frozen=True)
class NeighborSettings:
    """Mining of the K nearest neighbours, once, in the contrastive feature space."""

    count: PositiveInt = 20
    include_self: bool = True
    features: Literal["projection", "backbone"] = "projection"  # the projection has 128 dimensions


@dataclass(frozen=True)
class ScanSettings:
    """SCAN clustering of the whole network (stage C)."""

    epochs: int = 50
    batch_size: BatchSize = 128
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    entropy_weight: float = 5.0
    prior: Literal["uniform", "given"] = "uniform"  # "given": clusters need be no more even than the given labels
    view: ViewName = "strong"
    held_out_share: float = 0.1  # training images kept aside to choose the epoch; never test images


@dataclass(frozen=True)
class WarmupSettings:
    """Warm-up of the class head with the given labels, by the optimiser of the semi-supervised step."""

    epochs: int = 10
    batch_size: BatchSize = 128
    learning_rate: float = 0.02
    scope: Literal["head", "network"] = "head"  # "head": backbone frozen; "network": everything learns
    confidence_penalty: bool = False  # for asymmetric-type noise
    clip_norm: float = 0.0  # 0: no gradient clipping
    class_aware: bool = False  # rare classes are drawn more often, in proportion to the root of their given shares
    view: ViewName = "strong"


@dataclass(frozen=True)
class GateSettings:
    """The noise-rate gate, decided once after warm-up."""

    threshold: float = 0.6
    low_rate: float = 1e-5  # learning rate of the clustering step at or below the threshold
    high_rate: float = 1e-3
    low_view: ViewName = "weak"
    high_view: ViewName = "strong"
    switch_views: bool = True  # False: the gate sets only the clustering learning rate (paper's text)


@dataclass(frozen=True)
class SplitSettings:
    """Clean or noisy: a two-component Gaussian mixture on the per-image loss."""

    threshold: float = 0.5
    history: PositiveInt = 1  # average the normalised losses of this many last epochs
    max_iter: PositiveInt = 10
    tol: float = 1e-2
    reg_covar: float = 5e-4
    clip_percentile: float = 0.0  # 0: min-max by the extremes, as released; 99.9 keeps one outlier from ruling


@dataclass(frozen=True)
class MixMatchSettings:
    """The semi-supervised step of DivideMix."""

    epochs: int = 300
    batch_size: BatchSize = 64
    learning_rate: float = 0.02
    rate_drops: tuple[int, ...] = (150,)  # epochs after warm-up at which the rate is divided by ten
    momentum: float = 0.9
    weight_decay: float = 5e-4
    temperature: PositiveFloat = 0.5
    alpha: PositiveFloat = 4.0
    lambda_u: float = 25.0
    rampup: PositiveInt = 16
    mix_unlabelled: bool = True  # False: the WebVision, Red and Clothing1M variant without the unlabelled loss
    view: ViewName = "weak"
    guess_view: Literal[ViewName, ""] = ""  # views that labels are guessed from; "": those that are trained on
    prior: Literal["uniform", "given"] = "uniform"  # "given": shares of the given labels, as they are drawn
    class_aware: bool = False  # rare classes are drawn more often, in proportion to the root of their given shares
    steps: int = 0  # steps an epoch; 0: one pass over the labelled set
    epoch_images: int = 0  # 0: all; Clothing1M draws a fresh random subset each epoch


@dataclass(frozen=True)
class ClusteringSettings:
    """The clustering step of every epoch, with the peer's predictions as neighbour filter."""

    batch_size: BatchSize = 128
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 5e-4
    entropy_weight: float = 5.0
    prior: Literal["uniform", "given"] = "uniform"  # "given": clusters need be no more even than the given labels
    view: ViewName = "weak"
    steps: int = 0  # steps an epoch at most; 0: one pass over all images
    shared_momentum: bool = False  # True: one optimiser serves this step and MixMatch, as released
    legacy_zero_grad: bool = False  # True: unused heads still decay, as under torch < 2


@dataclass(frozen=True)
class BeliefSettings:
    """The EM loop on beliefs, ours: in place of warm-up, gate, split, MixMatch and clustering step."""

    epochs: int = 100
    batch_size: BatchSize = 256  # images; two views of each are trained on
    learning_rate: float = 0.05
    final_rate_share: float = 0.02  # cosine schedule
    momentum: float = 0.9
    weight_decay: float = 5e-4
    view: ViewName = "medium"
    alpha: float = 1.0  # MixUp of images drawn together; 0: none
    temperature: PositiveFloat = 0.5  # sharpens what is trained towards; 1: as it is believed
    networks: Literal[1, 2] = 2  # two teach each other, one itself
    average: float = 0.995  # of the averaged weights, a step; they give beliefs and the final classifier
    rounds: int = 0  # neighbours' votes are passed on so often; 0: as foretells hidden labels best
    probe: float = 0.0  # weight of a linear classifier on the untouched features beside votes and network; 0: none
    floor: PositiveFloat = 0.1  # no opinion rules a class out further as evidence, in even shares: 0.01 of 10 classes
    whiten: bool = True  # directions in which features vary little count among neighbours too
    humble: bool = True  # weak features give way to the given labels
    classifier_say: PositiveFloat = 1.0  # exponent of the noise matrix where a classifier made the labels; 1: not asked


@dataclass(frozen=True)
class SupervisedSettings:
    """Plain training with the given labels: the yardsticks `cross-entropy`, `mixup` and `elr`."""

    epochs: int = 300
    batch_size: BatchSize = 128
    learning_rate: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 5e-4
    final_rate_share: float = 0.0  # cosine schedule
    view: ViewName = "weak"
    mixup_alpha: PositiveFloat = 1.0
    elr_weight: float = 3.0  # strength of the early-learning regulariser
    elr_momentum: float = 0.7  # of its target average


@dataclass(frozen=True)
class Profile:
    """Everything that defines a run apart from the data, the seed and the device."""

    name: str
    backbone: str
    image_size: ImageSize
    stored_size: PositiveInt  # pixels are cached at this short side; larger than image_size where views crop
    mean: Normalisation
    std: Spread
    contrastive: ContrastiveSettings | None
    neighbors: NeighborSettings
    scan: ScanSettings | None
    warmup: WarmupSettings
    gate: GateSettings | None
    split: SplitSettings
    mixmatch: MixMatchSettings
    clustering: ClusteringSettings | None
    beliefs: BeliefSettings | None = None  # not None: `scanmix` is the belief loop, right after pre-training
    supervised: SupervisedSettings = SupervisedSettings()
    weights: str = ""  # outside weights that the encoder starts from: a name or a file; "": none
    epoch_images: int = 0  # images that an epoch of any stage draws at most; 0: all. Time budgets set it for large sets
    encoder: Literal["trained", "still"] = "trained"  # "still": the stages train on the features of those weights
    order: Literal["sequential", "parallel"] = "sequential"  # "parallel": both learn from clones of the epoch's start

    @property
    def loop_epochs(self) -> int:
        """Epochs of the main loop, stage `scanmix`."""
        return self.mixmatch.epochs if self.beliefs is None else self.beliefs.epochs
