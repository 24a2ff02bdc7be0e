"""Headline figures out of the sections that `speed.py` measured: rates, ratios, and schedules added up."""

from dataclasses import replace

from stopwatch import IMAGES

from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import CIFAR10

TEST_IMAGES = 10_000
LABELLED = {"sym 90": 10_000, "sym 20": 40_000}  # images in the clean set, of 50,000
VIEWS = {"sym 90": "strong", "sym 20": "weak"}  # what the gate chooses at that noise
PUBLISHED = replace(CIFAR10, mixmatch=replace(CIFAR10.mixmatch, epochs=300))
LARGER = replace(  # the same epochs in larger batches; nothing is said of the accuracy
    PUBLISHED,
    contrastive=PUBLISHED.contrastive and replace(PUBLISHED.contrastive, batch_size=2048),
    scan=PUBLISHED.scan and replace(PUBLISHED.scan, batch_size=512),
    mixmatch=replace(PUBLISHED.mixmatch, batch_size=128),
    clustering=PUBLISHED.clustering and replace(PUBLISHED.clustering, batch_size=512),
)


def summary(sections: dict) -> dict:
    """The headline figures that the sections at hand allow; ratios only of sections measured in the same call."""
    found: dict = {}
    rows = {name: section["rows"] for name, section in sections.items()}
    if "simclr" in sections:
        best = max(rows["simclr"].values(), key=lambda row: row["images_per_s"])
        found["simclr_images_per_s"] = best["images_per_s"]
        beside = {name for name, section in sections.items() if section["call"] == sections["simclr"]["call"]}
        if "plain" in beside:
            found["speedup_vs_plain_batch64"] = best["images_per_s"] / rows["plain"]["views_per_s"]
        if "limit" in beside:
            flops = best["forwards_per_s"] * rows["limit"]["forward_flops_per_image"]
            found["mfu"] = flops / rows["limit"]["matmul_flops_per_s"]
        if "mixmatch" in beside and "64 weak" in rows["mixmatch"]:
            found["mixmatch_share_of_simclr"] = rows["mixmatch"]["64 weak"]["images_per_s"] / best["images_per_s"]
    full_size = "512" in rows.get("simclr", {})
    if full_size and {"scan", "warmup", "mixmatch", "clustering", "evaluation"} <= set(sections):
        found["published_schedule_minutes"] = {noise: schedule_minutes(rows, PUBLISHED, noise) for noise in LABELLED}
        found["larger_batches_minutes"] = {noise: schedule_minutes(rows, LARGER, noise) for noise in LABELLED}
    if full_size and {"fast_simclr", "beliefs"} <= set(sections):
        found["fast_profile_minutes"] = fast_minutes(rows)
    return found


def schedule_minutes(rows: dict, profile: Profile, noise: str) -> float:
    """All stages of a profile on 50,000 images, two networks, from measured epochs and steps of its batch sizes."""
    contrastive, scanning, semi, cluster = profile.contrastive, profile.scan, profile.mixmatch, profile.clustering
    assert contrastive is not None
    assert scanning is not None
    assert cluster is not None
    seconds = contrastive.epochs * rows["simclr"][str(contrastive.batch_size)]["epoch_s"]
    seconds += scanning.epochs * rows["scan"][str(scanning.batch_size)]["epoch_s"]
    seconds += profile.warmup.epochs * rows["warmup"]["epoch_s"]
    semi_steps = semi.steps or LABELLED[noise] // semi.batch_size
    cluster_steps = cluster.steps or IMAGES // cluster.batch_size
    view = VIEWS[noise]
    epoch_ms = 2 * semi_steps * rows["mixmatch"][f"{semi.batch_size} {view}"]["ms"]
    epoch_ms += 2 * cluster_steps * rows["clustering"][f"{cluster.batch_size} {view}"]["ms"]
    epoch_ms += 2 * rows["evaluation"]["ms"] * (1 + TEST_IMAGES / IMAGES) + 1e3 * rows["evaluation"]["split_s"]
    return (seconds + semi.epochs * epoch_ms / 1e3) / 60


def fast_minutes(rows: dict) -> float:
    """Pre-training and belief loop of `fast` on 50,000 images, whatever the noise, from measured epochs."""
    contrastive, loop = fast.GPU.contrastive, fast.GPU.beliefs
    assert contrastive is not None
    assert loop is not None
    seconds = contrastive.epochs * rows["fast_simclr"]["epoch_s"]
    return (seconds + loop.networks * loop.epochs * rows["beliefs"]["epoch_s"]) / 60
