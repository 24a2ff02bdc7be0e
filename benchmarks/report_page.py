"""How fast the page of a large run is built, opened and scrolled: 50,000 images, 5,000 suspects, made-up pictures.

    python benchmarks/report_page.py

prints the seconds and bytes of the page, and the longest stall of the browser's main thread while it opens, scrolls,
filters and sorts, out of the browser's own trace. Needs Chromium and the extra `dev`.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from scanmix_cli.data.samples import TRAIN
from scanmix_cli.evidence.store import EVIDENCE
from scanmix_cli.evidence.verdicts import KEEP, RELABEL, REVIEW
from scanmix_cli.files import write_text
from scanmix_cli.report.files import REPORT, SUMMARY, counts
from scanmix_cli.report.html import write_html
from scanmix_cli.report.matrix_file import NOISE_MATRIX, matrix_table
from scanmix_cli.report.page.pictures import Sources
from scanmix_cli.report.page.run_data import read_run
from scanmix_cli.report.spreadsheet import csv_text
from scanmix_cli.report.table import typed_table

CLASSES = [f"class {k}" for k in range(10)]
EDGE = 160  # pixels of a made-up photograph
MOTIFS = 200  # different ones; the others are turned and shifted copies
NEIGHBORS, EPOCHS, ON_MAP = 20, 16, 2_000
MAIN_THREAD = "CrRendererMain"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--suspects", type=int, default=5_000)
    parser.add_argument("--keep", type=Path, help="where to leave the page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder)
        write_run(run_dir, given.images, given.suspects)
        pictures = photographs()
        for most in (2_000, given.suspects):
            began = time.perf_counter()
            write_html(run_dir / "report.html", read_run(run_dir), pictures, most=most)
            seconds, size = time.perf_counter() - began, (run_dir / "report.html").stat().st_size
            print(
                f"{given.images} rows, {most} suspects shown: built in {seconds:.1f} s, {size / 1e6:.1f} MB", flush=True
            )
        for name, (longest, cpu) in stalls(run_dir / "report.html").items():
            print(f"{name:<28} longest task {longest:4.0f} ms ({cpu:.0f} ms of it computing)", flush=True)
        if given.keep:
            shutil.copy(run_dir / "report.html", given.keep)


def write_run(run_dir: Path, images: int, suspects: int) -> None:
    """The files of a finished run that the page reads; the suspects are spread over the rows."""
    generator = np.random.default_rng(0)
    true = generator.integers(0, len(CLASSES), images)
    order = generator.permutation(images)
    rank = np.empty(images, np.int64)
    rank[order] = np.arange(1, images + 1)
    wrong = rank <= suspects
    given = np.where(wrong, (true + generator.integers(1, len(CLASSES), images)) % len(CLASSES), true)
    p = np.where(wrong, 1 - 0.5 * rank / suspects, 0.1 * suspects / rank)
    names = np.array(CLASSES, dtype=object)
    report = typed_table(
        {
            "filename": [f"train/{CLASSES[label]}/photograph_{k:06}.jpg" for k, label in enumerate(given)],
            "split": [TRAIN] * images,
            "given_label": names[given],
            "predicted_label": names[true],
            "suggested_label": names[np.where(wrong, true, given)],
            "suggested_action": np.where(p > 0.7, RELABEL, np.where(wrong, REVIEW, KEEP)),
            "is_label_issue": wrong,
            "label_score": 1 - p,
            "p_mislabeled": p,
            "p_suggested": np.clip(p + 0.05, 0, 1),
            "rank": rank,
            "neighbor_agreement": np.where(wrong, 0.1, 0.9),
            "mean_loss": np.where(wrong, generator.gamma(9, 0.4, images), generator.gamma(2, 0.1, images)),
            "p_clean_gmm": 1 - p,
            "is_outlier_issue": rank % 1000 == 1,
            "outlier_score": generator.random(images),
            "is_exact_duplicate_issue": [False] * images,
            "is_near_duplicate_issue": [None] * images,
            "duplicate_set": [None] * images,
            "error_code": ["VALID"] * images,
        },
        pd.RangeIndex(images),
    )
    write_text(run_dir / REPORT, csv_text(report))
    matrix = np.full((len(CLASSES), len(CLASSES)), 0.01) + 0.9 * np.eye(len(CLASSES))
    write_text(run_dir / NOISE_MATRIX, csv_text(matrix_table(matrix, CLASSES)))
    rate = suspects / images
    summary = {
        "run": str(run_dir),
        "data": {"name": "made up", "root": ".", "fingerprint": "0" * 64},
        "classes": CLASSES,
        "counts": counts(report) | {"cleaned": images},
        "noise_rate": {"estimate": rate, "low": 0.9 * rate, "high": 1.1 * rate, "level": 0.9},
    }
    write_text(run_dir / SUMMARY, json.dumps(summary))
    belief = np.where(wrong[:, None], np.linspace(0.6, 0.02, EPOCHS), np.linspace(0.6, 0.99, EPOCHS))
    angle = 2 * np.pi * true / len(CLASSES)
    centre = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    on_map = np.sort(generator.choice(images, min(images, ON_MAP), replace=False))
    np.savez_compressed(
        run_dir / EVIDENCE,
        rows=np.arange(images),
        labels=given,
        epochs=np.arange(1, EPOCHS + 1),
        history=np.clip(belief + generator.normal(0, 0.03, belief.shape), 0, 1).astype(np.float16),
        neighbors=generator.integers(0, images, (images, NEIGHBORS)).astype(np.int32),
        embedding=(centre + generator.normal(0, 0.15, centre.shape)).astype(np.float32)[on_map],
        embedding_rows=on_map,
    )


def photographs() -> Sources:
    """Smooth colours with grain and edges, about as many bytes as photographs of this size."""
    generator = np.random.default_rng(1)
    motifs = np.empty((MOTIFS, 3, EDGE, EDGE), np.uint8)
    for motif in motifs:
        coarse = Image.fromarray(generator.integers(0, 256, (12, 12, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((EDGE, EDGE), Image.Resampling.BICUBIC)).astype(np.float64)
        smooth[generator.integers(20, 140) :, generator.integers(20, 140) :] *= 0.6
        grain = generator.normal(0, 7, (EDGE, EDGE, 1))
        motif[:] = np.clip(smooth + grain, 0, 255).astype(np.uint8).transpose(2, 0, 1)

    def large(row: int) -> np.ndarray:
        return np.roll(motifs[row % MOTIFS], row // MOTIFS, axis=2)

    def small(row: int) -> np.ndarray:
        return motifs[row % MOTIFS][:, :64, :64]

    return Sources(large, small)


def stalls(page_file: Path) -> dict[str, tuple[float, float]]:
    """Longest main-thread task in milliseconds, wall clock and processor, of each thing a reader does."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        found = {"opening": traced(browser, page, lambda: opened(page, page_file))}
        found["scrolling by wheel"] = traced(browser, page, lambda: wheeled(page))
        found["dragging the scroll bar"] = traced(browser, page, lambda: dragged(page))
        found["searching"] = traced(browser, page, lambda: searched(page))
        found["sorting"] = traced(browser, page, lambda: sorted_by(page, ("file", "loss", "given", "rank")))
        found["over the map"] = traced(browser, page, lambda: hovered(page))
        browser.close()
    return found


def traced(browser: Browser, page: Page, act: Any) -> tuple[float, float]:
    browser.start_tracing(
        page=page, categories=["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
    )
    act()
    page.wait_for_timeout(500)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == MAIN_THREAD
    }
    tasks = [
        (event["dur"] / 1e3, event.get("tdur", 0) / 1e3)
        for event in events
        if event.get("ph") == "X" and event["name"].endswith("RunTask") and (event["pid"], event["tid"]) in threads
    ]
    return max(tasks)


def opened(page: Page, page_file: Path) -> None:
    page.goto(page_file.as_uri())
    page.wait_for_selector(".card")


def wheeled(page: Page) -> None:
    page.locator("#deck").scroll_into_view_if_needed()
    page.locator("#deck").hover()
    for _ in range(80):
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(16)


def dragged(page: Page) -> None:
    for step in range(40):
        page.evaluate(
            "share => { const d = document.getElementById('deck'); d.scrollTop = share * d.scrollHeight; }", step / 40
        )
        page.wait_for_timeout(30)


def searched(page: Page) -> None:
    page.fill("#search", "")
    page.type("#search", "class 7 photograph_0", delay=60)
    page.fill("#search", "")


def sorted_by(page: Page, orders: tuple[str, ...]) -> None:
    for order in orders:
        page.select_option("#sort", order)
        page.wait_for_timeout(200)


def hovered(page: Page) -> None:
    box = page.locator("#canvas").bounding_box()
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    for step in range(60):
        page.mouse.move(box["x"] + box["width"] * step / 60, box["y"] + box["height"] * (0.2 + 0.6 * (step % 7) / 7))
        page.wait_for_timeout(16)


if __name__ == "__main__":
    main()
