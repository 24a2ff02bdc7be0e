"""Inception-ResNet-v2, the WebVision network."""

from timm.models.inception_resnet_v2 import InceptionResnetV2


class InceptionResNetV2(InceptionResnetV2):
    """timm's network without its classifier: (B, 3, H, W) -> (B, 1536).

    The last pooling covers whatever map is left (5x5 at 224 and 227, 8x8 at 299). Batch norm epsilon is 1e-3.
    """

    features = 1536

    def __init__(self) -> None:
        super().__init__(num_classes=0)
