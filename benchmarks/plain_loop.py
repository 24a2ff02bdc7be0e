"""SimCLR written the usual way, the yardstick of `speed.py`: fp32, DataLoader workers, Pillow, batch 64."""

import time

import numpy as np
import torch
from PIL import Image
from scanmix_cli.models.norm_act import plain_norms
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from scanmix_cli.method.losses import nt_xent

BATCH = 64
AUGMENTATION = transforms.Compose(
    [
        transforms.RandomResizedCrop(32, scale=(0.2, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], 0.8),
        transforms.RandomGrayscale(0.2),
        transforms.ToTensor(),
        transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    ]
)


class TwoViews(Dataset):
    """Two random views float32 (3, 32, 32) of each of the pixels uint8 (N, H, W, 3)."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        image = Image.fromarray(self.pixels[row])
        return AUGMENTATION(image), AUGMENTATION(image)


def views_per_second(net: nn.Module, pixels: Tensor, device: torch.device, workers: int, seconds: float) -> float:
    """Train `net` on pixels uint8 (N, 3, H, W) for about `seconds` after ten warm-up steps; trained views a second."""
    data = TwoViews(pixels.permute(0, 2, 3, 1).contiguous().cpu().numpy())
    loader = DataLoader(
        data, BATCH, shuffle=True, num_workers=workers, drop_last=True, pin_memory=device.type == "cuda"
    )
    net = net.to(device, memory_format=torch.contiguous_format).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    steps, warm, began = 0, 10 if device.type == "cuda" else 1, 0.0
    with plain_norms():
        while True:
            for first, second in loader:
                views = torch.cat([first, second]).to(device, non_blocking=True)
                loss = nt_xent(net(views).chunk(2), temperature=0.1)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                loss.item()  # as usual loops do, for their progress bar
                steps += 1
                if steps == warm:
                    began = time.perf_counter()
                spent = time.perf_counter() - began
                if steps > warm and spent > seconds:
                    return 2 * BATCH * (steps - warm) / spent
