"""Runs whose encoder stands still: its features in, a classifier of images out."""

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scanmix_cli.augment.pipelines import build_view
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute, seeded
from scanmix_cli.engine.parallel import gather_rows, rows_of_this_process, world
from scanmix_cli.method.features import FeatureSet
from scanmix_cli.method.images import to_layout
from scanmix_cli.method.networks import placed
from scanmix_cli.method.settings import Profile
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.registry import build_backbone
from scanmix_cli.models.still import Embedding, StillBackbone
from scanmix_cli.workflow.views import views_of
from scanmix_cli.workflow.weights import choose_outside, load_encoder

CHUNK = 4096  # images whose features are worked on at once
VIEWS = 2  # of every image: as it is, and mirrored
BATCH = {"cpu": 8, "cuda": 512, "mps": 64}  # images; the maps of 8 stay in the cache of a CPU


class StillEncoder:
    """The embedding of outside weights, and the features that it gives the images of a run."""

    def __init__(self, profile: Profile, compute: Compute) -> None:
        self.profile, self.compute = profile, compute
        backbone = load_encoder(choose_outside(profile.weights, profile.backbone))
        self.embedding = placed(Embedding(backbone), compute.device).eval()

    def raw(self, images: "RowsOf", views: int = VIEWS) -> Tensor:
        """float16 (N, views, D) on the CPU, not centred yet; pixels are read a batch at a time from where they lie.

        Processes that share the run take a batch each, in turns, and exchange the features.
        """
        size, mean, std = self.profile.image_size, self.profile.mean, self.profile.std
        view, step = build_view("test", size, mean, std), world() * BATCH[self.compute.device.type]
        result = torch.empty(len(images), views, len(self.embedding.center), dtype=torch.float16)
        for start in range(0, len(images), step):
            turn = result[start : start + step]
            own = start + rows_of_this_process(len(turn), torch.device("cpu")).numpy()
            pixels = torch.from_numpy(images[own]).to(self.compute.device)
            with torch.inference_mode(), self.compute.autocast():
                seen = [self.embedding.raw(to_layout(one)).half() for one in views_of(view(pixels, None), views)]
            turn.copy_(gather_rows(torch.stack(seen, 1), len(turn)))
        return result

    def train_set(self, images: "RowsOf", labels: Tensor, classes: int, context: Context) -> FeatureSet:
        """Training images with labels int64 (N,), -1 where unlabelled; sets the embedding's centre."""

        def centred() -> Tensor:
            raw = self.raw(images)
            self.embedding.center.copy_(context.once("centre", lambda: mean_of(raw)))
            return self._centred(raw)

        for _ in context.epochs("embedding", 1):
            context.once("centred-features", centred)
        features = context.once("centred-features", centred)
        # Where the features were read from a checkpoint; if that of the centre is damaged, it is worked out again.
        self.embedding.center.copy_(context.once("centre", lambda: mean_of(self.raw(images))))
        return self._set(features, labels, classes)

    def other_set(self, images: "RowsOf", labels: Tensor, classes: int) -> FeatureSet:
        """Held-out images, by the centre of the training images."""
        return self._set(self._centred(self.raw(images)), labels, classes)

    def _centred(self, raw: Tensor) -> Tensor:
        """Features float16 (N, views, D) less the embedding's centre, in place: they are all the memory there is."""
        for part in raw.split(CHUNK):
            flat = self.embedding.centered(part.to(self.compute.device).float().flatten(0, 1))
            part.copy_(flat.view(part.shape))
        return raw

    def _set(self, features: Tensor, labels: Tensor, classes: int) -> FeatureSet:
        device = self.compute.device
        return FeatureSet(features.to(device), labels.to(device), classes, 1, self.profile.mean, self.profile.std)

    def joined(self, nets: list[ScanMixNet]) -> list[ScanMixNet]:
        """Networks of images out of networks of features: the embedding, which they share, and their own layers."""
        result = []
        for net in nets:
            adapter: Any = net.backbone
            backbone = StillBackbone(self.embedding, adapter)
            whole = ScanMixNet(backbone, net.class_head.out_features)
            whole.class_head, whole.cluster_head = net.class_head, net.cluster_head
            result.append(whole)
        return result


def seconds_per_image(profile: Profile, compute: Compute) -> float:
    """Measured seconds of all views of one image through the encoder, whatever its weights."""
    with seeded(0):
        embedding = placed(Embedding(build_backbone(profile.backbone)), compute.device).eval()
    batch = to_layout(torch.zeros(8, 3, profile.image_size, profile.image_size, device=compute.device))
    times = []
    for _ in range(3):
        began = time.perf_counter()
        with torch.inference_mode(), compute.autocast():
            embedding(batch).sum().item()  # waits for the device
        times.append(time.perf_counter() - began)
    return VIEWS * min(times[1:]) / len(batch)


class RowsOf:
    """Images at `rows` int64 (N,) of the table as uint8 (N, 3, S, S), read from the pixel cache when asked for."""

    def __init__(self, pixels: Pixels, rows: np.ndarray) -> None:
        self.images, self.places = pixels.images, np.searchsorted(pixels.rows, rows)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, part: np.ndarray | slice) -> np.ndarray:
        return np.ascontiguousarray(self.images[self.places[part]])


def mean_of(raw: Tensor) -> Tensor:
    """float32 (D,): mean of the first views of features float16 (N, views, D)."""
    return (sum(part[:, 0].double().sum(0) for part in raw.split(CHUNK)) / len(raw)).float()
