"""Where the newest run lies."""

from pathlib import Path

from scanmix_cli.errors import DataError

RUNS = Path("scanmix-runs")


def latest_run(base: Path = RUNS) -> Path:
    """The folder that `base/latest` names: a link to it, or a text file holding its name.

    Raises DataError where there is no such file, or the folder it names is gone.
    """
    pointer = base / "latest"
    if pointer.is_dir():
        return pointer.resolve()
    name = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""
    if not name:
        raise DataError(f"No run found in {base}: run `scanmix train DATA` first or name a run folder with `--run`.")
    run = base / name
    if not run.is_dir():
        raise DataError(f"{pointer} names {run}, which is gone: name a run folder with `--run`.")
    return run
