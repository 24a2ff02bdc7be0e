"""scanmix: find mislabelled images, clean the labels, train a classifier that wrong labels did not spoil."""

from scanmix_cli.version import __version__

__all__ = ["__version__"]
