"""Network definitions; nothing here knows the rest of the package."""

from .heads import ContrastiveHead, linear_head
from .network import ContrastiveNet, ScanMixNet
from .registry import BACKBONES, build_backbone

__all__ = ["BACKBONES", "ContrastiveHead", "ContrastiveNet", "ScanMixNet", "build_backbone", "linear_head"]
