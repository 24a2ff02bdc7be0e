"""Pictures that meet the corners of every operation."""

import pytest
import torch
from torch import Tensor


@pytest.fixture(scope="session")
def pictures() -> Tensor:
    """uint8 (12, 3, 32, 32): noise, smooth colours, few levels, a narrow range, one colour, black, white."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randint(0, 256, (4, 3, 32, 32), generator=generator)
    coarse = torch.randint(0, 256, (4, 3, 4, 4), generator=generator).float()
    smooth = torch.nn.functional.interpolate(coarse, size=32, mode="bicubic").clamp(0, 255).long()
    few = smooth[:1] // 64 * 64
    narrow = 100 + smooth[1:2] // 8
    flat = torch.tensor([200, 30, 90]).view(1, 3, 1, 1).expand(1, 3, 32, 32)
    extremes = torch.stack((torch.zeros(3, 32, 32), torch.full((3, 32, 32), 255)))
    pictures = torch.cat((noise, smooth[:3], few, narrow, flat, extremes.long()))
    return pictures.to(torch.uint8)
