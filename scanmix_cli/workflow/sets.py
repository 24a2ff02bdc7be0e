"""What the method trains on, out of the table and the pixels: images, or features of an encoder that stands still."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from scanmix_cli.data.pixels import Pixels, let_go
from scanmix_cli.data.samples import Samples
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import least
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.networks import contrastive_net
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.shards import host_memory, shards_of
from scanmix_cli.method.stored import StoredPixels
from scanmix_cli.models.network import ContrastiveNet, ScanMixNet
from scanmix_cli.models.registry import ADAPTER_PREFIX, STILL_PREFIX
from scanmix_cli.workflow.facts import train_rows
from scanmix_cli.workflow.reviewed import TrainingLabels
from scanmix_cli.workflow.still import RowsOf, StillEncoder
from scanmix_cli.workflow.weights import choose_outside, load_encoder

PIXEL_SHARE = 0.5  # of a GPU's free memory; pixels that need more stay in their file and come over by the batch
HOST_ROOM = 1e9  # bytes on other devices, which share the memory of the machine


@dataclass(frozen=True)
class Sets:
    """Training images (N) and held-out ones for the method; `profile` names the network that it trains."""

    rows: np.ndarray  # int64 (N,): row of each training image in the Samples table
    images: ImageSet
    held_out: ImageSet | None
    profile: Profile
    encoder: ContrastiveNet | None  # with outside weights, where one is trained further
    whole: Callable[[list[ScanMixNet]], list[ScanMixNet]]  # the method's networks as networks of images
    whole_backbone: str  # what those are called


def make_sets(samples: Samples, labels: TrainingLabels, pixels: Pixels, profile: Profile, context: Context) -> Sets:
    """The readable training images that were not dropped, and the readable held-out images with a label."""
    everything, ids = train_rows(samples, pixels), labels.ids
    rows = everything[~labels.dropped[everything]]
    others = np.setdiff1d(pixels.rows, everything, assume_unique=True)
    others = others[ids[others] >= 0]
    make = _of_features if profile.encoder == "still" else _of_images
    sets = make(samples, pixels, rows, others, ids, profile, context)
    if labels.trusted.any():
        trusted = torch.from_numpy(labels.trusted[rows]).to(context.device)
        return replace(sets, images=replace(sets.images, trusted=trusted))
    return sets


def image_set(
    pixels: Pixels, rows: np.ndarray, ids: np.ndarray, samples: Samples, profile: Profile, context: Context
) -> ImageSet:
    """Rows int64 (n,) of the pixel cache; ids int64 (rows of the table,) are the labels."""
    found = place_pixels(pixels.images, RowsOf(pixels, rows).places, context.device)
    numbers = torch.from_numpy(ids[rows]).to(context.device)
    done = partial(let_go, pixels.images)
    done()
    classes = len(samples.classes)
    return ImageSet(found, numbers, classes, profile.image_size, profile.mean, profile.std, let_go=done)


def place_pixels(images: np.ndarray, places: np.ndarray, device: torch.device) -> Tensor | StoredPixels:
    """The images at `places`, int64 ascending, of uint8 (N, 3, H, W), on the device where it has room for them.

    Elsewhere, and on a CPU where all are asked for, they stay in the file that `images` are mapped from: the system
    reads what is looked at, and lets go of it again where memory is short. A file that takes more than half of the
    memory is read in shards. Processes that share the run go by the least room of any of them: the order in which the
    images come must be one.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # nobody writes to pixels
        source = torch.from_numpy(images)
    whole, shards = len(places) == len(images), shards_of(images, least(host_memory()))
    if whole and device.type == "cpu" and shards is None:
        return source
    if len(places) * images[:1].nbytes <= least(room_for_pixels(device)):
        return (source if whole else torch.from_numpy(images[places])).to(device)
    return StoredPixels(source, torch.from_numpy(places), device, shards)


def room_for_pixels(device: torch.device) -> float:
    """Bytes that pixels may take on the device; activations, networks and tables need the rest."""
    if device.type != "cuda":
        return HOST_ROOM
    return PIXEL_SHARE * torch.cuda.mem_get_info(device)[0]


def _of_images(
    samples: Samples,
    pixels: Pixels,
    rows: np.ndarray,
    others: np.ndarray,
    ids: np.ndarray,
    profile: Profile,
    context: Context,
) -> Sets:
    encoder = None
    if profile.weights:
        encoder = contrastive_net(profile.backbone, context)
        outside = load_encoder(choose_outside(profile.weights, profile.backbone))
        encoder.backbone.load_state_dict(outside.state_dict())
    images = image_set(pixels, rows, ids, samples, profile, context)
    held_out = image_set(pixels, others, ids, samples, profile, context) if len(others) else None
    return Sets(rows, images, held_out, profile, encoder, lambda nets: nets, profile.backbone)


def _of_features(
    samples: Samples,
    pixels: Pixels,
    rows: np.ndarray,
    others: np.ndarray,
    ids: np.ndarray,
    profile: Profile,
    context: Context,
) -> Sets:
    encoder, classes = StillEncoder(profile, context.compute), len(samples.classes)

    def labels_of(chosen: np.ndarray) -> Tensor:
        return torch.from_numpy(ids[chosen])

    images = encoder.train_set(RowsOf(pixels, rows), labels_of(rows), classes, context)
    held_out = encoder.other_set(RowsOf(pixels, others), labels_of(others), classes) if len(others) else None
    let_go(pixels.images)
    own = replace(profile, backbone=f"{ADAPTER_PREFIX}{images.pixels.shape[2]}")
    return Sets(rows, images, held_out, own, None, encoder.joined, f"{STILL_PREFIX}{profile.backbone}")
