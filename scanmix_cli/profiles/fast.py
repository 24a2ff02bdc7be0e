"""`fast` and `auto`: our schedules in minutes instead of days, one configuration for every kind and rate of noise.

`scanmix` is the EM loop on beliefs of one network (docs/method.md). The stages of the published loop, which large
pictures, outside weights, unbalanced classes on a CPU and the benchmark's other methods use, start from the released
settings with larger batches, separate optimisers, labels guessed from weak views whatever is trained on, and guards.
Epochs follow from the number of images, so that small sets see enough steps and large ones end in time.
"""

from dataclasses import replace

from scanmix_cli.method.settings import (
    BeliefSettings,
    ClusteringSettings,
    ContrastiveSettings,
    GateSettings,
    MixMatchSettings,
    NeighborSettings,
    Profile,
    ScanSettings,
    SplitSettings,
    SupervisedSettings,
    WarmupSettings,
)
from scanmix_cli.profiles.official import IMAGENET_MEAN, IMAGENET_STD

GPU = Profile(
    name="fast",
    backbone="resnet18-cifar",
    image_size=32,
    stored_size=32,
    mean=IMAGENET_MEAN,
    std=IMAGENET_STD,
    contrastive=ContrastiveSettings(
        epochs=440,
        batch_size=512,
        learning_rate=0.3,
        rising_steps=500,
        weight_decay=5e-4,
        temperature=0.2,
        symmetric=True,
        decoupled=True,
        crop=0.5,
    ),
    neighbors=NeighborSettings(),
    scan=ScanSettings(epochs=15, batch_size=512, learning_rate=2e-4),
    warmup=WarmupSettings(epochs=5, batch_size=256, view="weak"),
    gate=GateSettings(),
    split=SplitSettings(clip_percentile=99.9, max_iter=100),
    mixmatch=MixMatchSettings(epochs=70, batch_size=128, steps=60, rate_drops=(55,), lambda_u=25.0, guess_view="weak"),
    clustering=ClusteringSettings(batch_size=512, steps=50),
    beliefs=BeliefSettings(epochs=88, networks=1, probe=0.5, classifier_say=0.25),
    supervised=SupervisedSettings(epochs=60, batch_size=256, learning_rate=0.05),
)

CPU = replace(
    GPU,
    backbone="small",
    contrastive=ContrastiveSettings(
        epochs=108, batch_size=128, learning_rate=0.12, temperature=0.2, symmetric=True, crop=0.5
    ),
    scan=ScanSettings(epochs=3, batch_size=128, learning_rate=1e-3),
    warmup=WarmupSettings(epochs=16, batch_size=32, learning_rate=0.03, scope="network", view="weak", clip_norm=1.0),
    mixmatch=MixMatchSettings(
        epochs=10,
        batch_size=32,
        learning_rate=0.03,
        rate_drops=(6, 9),
        alpha=1.0,
        lambda_u=10.0,
        rampup=4,
        guess_view="weak",
    ),
    clustering=ClusteringSettings(batch_size=128),
    beliefs=BeliefSettings(
        epochs=24,
        batch_size=32,
        learning_rate=0.03,
        networks=1,
        floor=0.01,
        classifier_say=0.25,
    ),
    supervised=SupervisedSettings(epochs=40, batch_size=64, learning_rate=0.03),
)

# Pictures of more than 64 pixels on a GPU: MoCo-v2, whose queue stands in for large batches that no longer fit, with
# the paper's settings for WebVision at the rate of a batch of 256; stored an eighth larger than what the views cut out.
LARGE = replace(
    GPU,
    backbone="resnet50",
    image_size=224,
    stored_size=256,
    contrastive=ContrastiveSettings(
        objective="moco",
        epochs=200,
        batch_size=256,
        learning_rate=0.03,
        final_rate_share=0.0,
        temperature=0.2,
        view="moco",
    ),
    neighbors=NeighborSettings(features="backbone"),
    scan=ScanSettings(epochs=15, batch_size=256, learning_rate=2e-4, view="simclr"),
    warmup=WarmupSettings(epochs=5, batch_size=128, view="weak-web"),
    gate=None,
    mixmatch=replace(GPU.mixmatch, batch_size=64, view="weak-web", guess_view="", prior="given"),
    clustering=ClusteringSettings(batch_size=128, steps=50, learning_rate=1e-5, view="weak-web"),
    beliefs=None,
    order="parallel",  # two GPUs train one network each
)


def unbalanced(profile: Profile) -> Profile:
    """The profile for classes of very different sizes: rare ones are drawn more often, and nothing asks for classes or
    clusters of one size."""
    return replace(
        profile,
        scan=profile.scan and replace(profile.scan, prior="given"),
        warmup=replace(profile.warmup, class_aware=True),
        mixmatch=replace(profile.mixmatch, prior="given", class_aware=True),
        clustering=profile.clustering and replace(profile.clustering, prior="given"),
    )


# On the features of an encoder that stands still, on any device: an epoch takes seconds, so there are more of them. The
# backbone, its weights and their normalisation are those of the run; they are filled in by the plan.
STILL = replace(
    CPU,
    image_size=192,
    stored_size=192,
    contrastive=None,
    scan=None,
    warmup=WarmupSettings(epochs=3, batch_size=128, learning_rate=0.01, scope="network", view="weak", clip_norm=1.0),
    mixmatch=MixMatchSettings(
        epochs=8,
        batch_size=64,
        learning_rate=0.01,
        rate_drops=(6,),
        lambda_u=10.0,
        rampup=4,
        guess_view="weak",
        prior="given",
    ),
    beliefs=None,
    encoder="still",
)
