"""`official`: what the released code does, for each benchmark of the paper.

Reproduces: post-activation ResNet-18, SCAN stage, head-only warm-up, gate that switches learning rate and views,
entropy weight 5, lambda_u 25 everywhere, one optimiser shared by both steps, zeroed (not dropped) gradients.
WebVision, Red and Clothing1M use the variant without the unlabelled loss and train the networks in parallel, each stage
with an optimiser that starts afresh, so neither momentum nor zeroed gradients are shared. The release has no Clothing1M
code; that row follows the paper's text with DivideMix's values where the text is silent.

The release counts epochs and rate drops from the start of warm-up, the settings here from its end: epochs 0 to 300 with
a drop at 150 and 10 epochs of warm-up are 291 epochs with a drop at 140.
"""

from dataclasses import replace

from scanmix_cli.method.settings import (
    ClusteringSettings,
    ContrastiveSettings,
    GateSettings,
    MixMatchSettings,
    NeighborSettings,
    Profile,
    ScanSettings,
    SplitSettings,
    WarmupSettings,
)

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CIFAR10_MEAN, CIFAR10_STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
CIFAR100_MEAN, CIFAR100_STD = (0.507, 0.487, 0.441), (0.267, 0.256, 0.276)
CLOTHING_MEAN, CLOTHING_STD = (0.6959, 0.6537, 0.6371), (0.3113, 0.3192, 0.3214)

CIFAR10 = Profile(
    name="official",
    backbone="resnet18-cifar",
    image_size=32,
    stored_size=32,
    mean=CIFAR10_MEAN,
    std=CIFAR10_STD,
    contrastive=ContrastiveSettings(),
    neighbors=NeighborSettings(),
    scan=ScanSettings(),
    warmup=WarmupSettings(),
    gate=GateSettings(),
    split=SplitSettings(),
    mixmatch=MixMatchSettings(epochs=291, rate_drops=(140,)),
    clustering=ClusteringSettings(shared_momentum=True, legacy_zero_grad=True),
)

CIFAR100 = replace(
    CIFAR10,
    mean=CIFAR100_MEAN,
    std=CIFAR100_STD,
    scan=ScanSettings(epochs=100, batch_size=1024),
    warmup=WarmupSettings(epochs=30),
    mixmatch=MixMatchSettings(epochs=271, rate_drops=(120,)),
)

RED_MINI_IMAGENET = replace(
    CIFAR10,
    mean=IMAGENET_MEAN,
    std=IMAGENET_STD,
    contrastive=ContrastiveSettings(batch_size=128, temperature=0.07),
    scan=ScanSettings(epochs=100, batch_size=256, view="simclr"),
    warmup=WarmupSettings(epochs=1, view="weak-red"),
    gate=None,
    split=SplitSettings(reg_covar=1e-3),
    mixmatch=MixMatchSettings(
        epochs=299, rate_drops=(199, 249), alpha=0.5, lambda_u=0.0, mix_unlabelled=False, view="weak-red"
    ),
    clustering=ClusteringSettings(view="strong"),
    order="parallel",
)

_MOCO = ContrastiveSettings(
    objective="moco",
    epochs=100,
    batch_size=128,
    learning_rate=0.015,
    final_rate_share=0.0,
    temperature=0.2,
    view="moco",
)

WEBVISION = Profile(
    name="official",
    backbone="inception-resnet-v2",
    image_size=227,
    stored_size=256,
    mean=IMAGENET_MEAN,
    std=IMAGENET_STD,
    contrastive=_MOCO,
    neighbors=NeighborSettings(features="backbone"),
    scan=ScanSettings(epochs=100, batch_size=256, view="simclr"),
    warmup=WarmupSettings(epochs=1, view="weak-web"),
    gate=None,
    split=SplitSettings(),
    mixmatch=MixMatchSettings(
        epochs=100, rate_drops=(49,), alpha=0.5, lambda_u=0.0, mix_unlabelled=False, view="weak-web"
    ),
    clustering=ClusteringSettings(batch_size=64, learning_rate=1e-5, view="strong"),
    order="parallel",
)

CLOTHING1M = replace(
    WEBVISION,
    backbone="resnet50",
    image_size=224,
    mean=CLOTHING_MEAN,
    std=CLOTHING_STD,
    contrastive=replace(_MOCO, max_images=100_000),
    neighbors=NeighborSettings(),
    warmup=WarmupSettings(epochs=1, batch_size=64, learning_rate=0.002, confidence_penalty=True, view="weak-web"),
    mixmatch=MixMatchSettings(
        epochs=79,
        batch_size=32,
        learning_rate=0.002,
        weight_decay=1e-3,
        rate_drops=(39,),
        alpha=0.5,
        lambda_u=0.0,
        mix_unlabelled=False,
        view="weak-web",
        steps=1000,
        epoch_images=64_000,
    ),
)

OFFICIAL = {
    "cifar10": CIFAR10,
    "cifar100": CIFAR100,
    "red-mini-imagenet": RED_MINI_IMAGENET,
    "webvision": WEBVISION,
    "clothing1m": CLOTHING1M,
}
