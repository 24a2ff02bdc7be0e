"""The names of the views, for settings: without PyTorch, so that a wrong name is found before it is loaded."""

from typing import Literal

ViewName = Literal["simclr", "moco", "weak", "weak-web", "weak-red", "medium", "strong", "test", "mirrored"]
