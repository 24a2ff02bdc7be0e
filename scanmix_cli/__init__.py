"""scanmix: find mislabelled images, clean the labels, train a classifier that wrong labels did not spoil.

`clean` trains and returns a `Result`; `load_run` opens an earlier run; `ScanMixClassifier` does it in the manner of
scikit-learn. All are loaded on first use, because they bring PyTorch with them.
"""

from typing import TYPE_CHECKING, Any

from scanmix_cli.version import __version__

if TYPE_CHECKING:
    from scanmix_cli.workflow.estimator import ScanMixClassifier
    from scanmix_cli.workflow.result import Result, clean, load_run

__all__ = ["Result", "ScanMixClassifier", "__version__", "clean", "load_run"]


def __getattr__(name: str) -> Any:
    if name in ("Result", "clean", "load_run"):
        from scanmix_cli.workflow import result

        return getattr(result, name)
    if name == "ScanMixClassifier":
        from scanmix_cli.workflow.estimator import ScanMixClassifier

        return ScanMixClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
