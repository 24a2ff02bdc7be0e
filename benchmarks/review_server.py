"""How fast `scanmix review` answers, for 50,000 rows of which 5,000 are suspects.

    python benchmarks/review_server.py

makes photographs of 1280 x 960 pixels and a run about them in a temporary folder, starts the command as a user does,
asks for pictures in random order over one connection, and prints a Markdown table. "First" is a picture that was not
asked for before: read, decoded, scaled, encoded. "Again" comes from the server's memory.
"""

import argparse
import http.client
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from PIL import Image, ImageFilter

from scanmix_cli.files import write_text
from scanmix_cli.report.spreadsheet import csv_text
from scanmix_cli.report.table import typed_table

CLASSES = [f"class {k:02}" for k in range(20)]
PHOTOGRAPHS = 60  # different ones; the rows' files are links to them
SIZE = (1280, 960)
NEIGHBORS, EPOCHS = 20, 40


def photograph(rng: np.random.Generator) -> bytes:
    """A JPEG with structure at several scales, about as large as one from a camera."""
    picture = Image.new("RGB", SIZE)
    for cells, strength in ((6, 1.0), (40, 0.5), (320, 0.25)):
        coarse = rng.integers(0, 256, (cells * 3 // 4, cells, 3), dtype=np.uint8)
        layer = Image.fromarray(coarse).resize(SIZE, Image.Resampling.BICUBIC)
        picture = Image.blend(picture, layer, strength)
    content = io.BytesIO()
    picture.filter(ImageFilter.DETAIL).save(content, "JPEG", quality=90)
    return content.getvalue()


def write_pictures(data: Path, rows: int, rng: np.random.Generator) -> list[str]:
    """Files of all rows below `data`; returns their names."""
    originals = []
    for k in range(PHOTOGRAPHS):
        originals.append(data / f"original-{k}.jpg")
        originals[-1].parent.mkdir(parents=True, exist_ok=True)
        originals[-1].write_bytes(photograph(rng))
    names = [f"{row % 100:02}/{row:06}.jpg" for row in range(rows)]
    for row, name in enumerate(names):
        (data / name).parent.mkdir(exist_ok=True)
        os.link(originals[row % PHOTOGRAPHS], data / name)
    return names


def write_run(run: Path, data: Path, names: list[str], suspects: int, rng: np.random.Generator) -> None:
    """What a finished run leaves of the tables that the review reads."""
    rows = len(names)
    rank = rng.permutation(rows) + 1
    suspect = rank <= suspects
    given = rng.integers(0, len(CLASSES), rows)
    suggested = np.where(suspect, (given + 1) % len(CLASSES), given)
    labels = np.array(CLASSES, dtype=object)
    p = 1 - rank / (rows + 1)
    none = np.zeros(rows, bool)
    columns = {
        "filename": names,
        "split": ["train"] * rows,
        "given_label": labels[given],
        "predicted_label": labels[suggested],
        "suggested_label": labels[suggested],
        "suggested_action": np.where(suspect, "relabel", "keep"),
        "is_label_issue": suspect,
        "label_score": 1 - p,
        "p_mislabeled": p,
        "p_suggested": p,
        "rank": rank,
        "neighbor_agreement": 1 - p,
        "mean_loss": p,
        "p_clean_gmm": 1 - p,
        "is_outlier_issue": none,
        "outlier_score": 1 - p,
        "is_exact_duplicate_issue": none,
        "is_near_duplicate_issue": none,
        "duplicate_set": [None] * rows,
        "error_code": ["VALID"] * rows,
    }
    run.mkdir()
    write_text(run / "report.csv", csv_text(typed_table(columns, pd.RangeIndex(rows))))
    about = {"name": "synthetic", "root": str(data), "fingerprint": ""}
    summary = {
        "run": str(run),
        "data": about,
        "classes": CLASSES,
        "counts": {"rows": rows, "labelled": rows, "label_issues": rows},
        "noise_rate": {"estimate": 0.5, "low": 0.4, "high": 0.6},
    }
    (run / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    np.savez_compressed(
        run / "evidence.npz",
        rows=np.arange(rows),
        labels=given,
        epochs=np.arange(EPOCHS),
        history=rng.random((rows, EPOCHS)).astype(np.float16),
        neighbors=rng.integers(0, rows, (rows, NEIGHBORS)).astype(np.int32),
        final_probability=rng.dirichlet(np.ones(len(CLASSES)), rows).astype(np.float16),
    )


class Client:
    """One connection to the running command."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.base = parts.path
        self.connection = http.client.HTTPConnection(parts.netloc, timeout=60)

    def ask(self, path: str, body: object = None) -> bytes:
        """The content of a granted answer."""
        sent = None if body is None else json.dumps(body)
        self.connection.request("GET" if sent is None else "POST", self.base + path, sent)
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {content!r}")
        return content


def milliseconds(calls: list[Callable[[], object]]) -> list[float]:
    """The time of every call, sorted."""
    taken = []
    for call in calls:
        began = time.perf_counter()
        call()
        taken.append(1000 * (time.perf_counter() - began))
    return sorted(taken)


def line(what: str, taken: list[float]) -> str:
    """A row of the table."""
    return f"| {what} | {statistics.median(taken):.1f} | {taken[int(0.95 * len(taken))]:.1f} | {len(taken)} |"


def measure(client: Client, asked: int, rng: np.random.Generator) -> list[str]:
    """The rows of the table."""
    suspects = json.loads(client.ask("suspects"))["suspects"]["row"]
    lines = [line("all suspects, as the page loads them", milliseconds([lambda: client.ask("suspects")] * 5))]
    for size, what in (("view", "one by one"), ("card", "grid"), ("small", "neighbour"), ("full", "full size")):
        rows = rng.choice(suspects, asked, replace=False).tolist()
        calls = [partial(client.ask, f"picture/{row}/{size}") for row in rows]
        lines.append(line(f"picture, {what}, first", milliseconds(calls)))
        lines.append(line(f"picture, {what}, again", milliseconds(calls)))

    def decide(k: int) -> bytes:
        return client.ask("decisions", {"after": k, "choices": [{"row": suspects[k], "decision": "keep"}]})

    lines.append(line("a decision, on disk", milliseconds([partial(decide, k) for k in range(asked)])))
    lines.append(line("a look for news", milliseconds([lambda: client.ask(f"decisions?after={asked}")] * asked)))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000, help="rows of the run (default: 50000)")
    parser.add_argument("--suspects", type=int, default=5_000, help="suspects among them (default: 5000)")
    parser.add_argument("--asked", type=int, default=300, help="pictures asked for in each size (default: 300)")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / "data", Path(folder) / "run"
        names = write_pictures(data, options.rows, rng)
        write_run(run, data, names, options.suspects, rng)
        command = [sys.executable, "-m", "scanmix_cli", "review", "--run", str(run), "--no-browser"]
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            client = Client(process.stdout.readline().strip())
            client.ask("")
            started = time.perf_counter() - began
            lines = measure(client, options.asked, rng)
            process.send_signal(signal.SIGINT)
    print(
        f"{options.rows:,} rows, {options.suspects:,} suspects; the page is there {started:.1f} s after the command\n"
    )
    print("| answer | median, ms | 95 of 100 within, ms | asked |\n| --- | --- | --- | --- |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
