"""Pictures inside the page: as large as its size allows, many in few bytes."""

import base64
import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from PIL import Image

from scanmix_cli.data.cores import usable_cores
from scanmix_cli.report.thumbnails import ImageOf

BUDGET = 10_500_000  # bytes of base64 text for the pictures of up to BUDGET_CARDS suspects; beyond, in proportion
BUDGET_CARDS = 2_000
SAMPLE = 40  # suspects by which the grade is chosen
CHUNK = 100  # suspects whose pictures are decoded together
TINY = 64  # pixels: up to here a picture is kept as it is and shown with its pixels
BLANK = (128, 128, 128)  # a neighbour whose file is gone
SHEET = 25  # pictures in one row of the map's sheets
THREADS = min(8, usable_cores())  # decoding and encoding work outside Python's lock


@dataclass(frozen=True)
class Sources:
    """Where pictures come from, by row of the report: large for the suspects, small for what surrounds them."""

    large: ImageOf
    small: ImageOf


@dataclass(frozen=True)
class Grade:
    """Longer side in pixels and quality 0..100 of a suspect's picture and of its neighbours'."""

    edge: int
    quality: int
    near_edge: int
    near_quality: int
    lossless: bool = False  # tiny pictures without loss


GRADES = (
    Grade(160, 82, 56, 75, lossless=True),
    Grade(160, 70, 48, 70, lossless=True),
    Grade(128, 75, 48, 65),
    Grade(128, 60, 40, 55),
    Grade(112, 55, 40, 40),
    Grade(96, 50, 32, 35),
    Grade(80, 40, 28, 30),
)


@dataclass(frozen=True)
class Gallery:
    """One line a suspect: base64 of its picture, a space, base64 of its neighbours side by side ("" where missing)."""

    grade: Grade
    chunks: list[str]  # CHUNK lines each


def build_gallery(rows: Sequence[int], neighbors: Sequence[Sequence[int]], sources: Sources) -> Gallery:
    """Pictures of the suspects `rows` and of their neighbours, all row numbers of the report, in the best grade that
    keeps the page within its size."""

    def line(at: int, grade: Grade) -> str:
        image = sources.large(rows[at])
        picture = "" if image is None else encode(to_image(image), grade.edge, grade.quality, grade.lossless)
        return f"{picture} {strip(neighbors[at], sources.small, grade.near_edge, grade.near_quality)}"

    grade = _choose_grade(len(rows), line)
    with ThreadPoolExecutor(THREADS) as pool:
        lines = list(pool.map(lambda at: line(at, grade), range(len(rows))))
    return Gallery(grade, ["\n".join(lines[start : start + CHUNK]) for start in range(0, len(lines), CHUNK)])


def _choose_grade(count: int, line: Callable[[int, Grade], str]) -> Grade:
    sample = np.unique(np.linspace(0, count - 1, min(SAMPLE, count)).astype(int)).tolist()
    allowed = BUDGET * max(1.0, count / BUDGET_CARDS)
    for grade in GRADES:
        size = sum(len(line(at, grade)) for at in sample)
        if size / max(len(sample), 1) * count <= allowed:
            return grade
    return GRADES[-1]


def sheets(rows: Sequence[int], image_of: ImageOf, edge: int = 32, quality: int = 50) -> list[str]:
    """base64 of SHEET pictures side by side, as many as it takes for all rows."""
    parts = [rows[start : start + SHEET] for start in range(0, len(rows), SHEET)]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda part: strip(part, image_of, edge, quality), parts))


def strip(rows: Sequence[int], image_of: ImageOf, edge: int, quality: int) -> str:
    """base64 of the rows' pictures side by side, each edge x edge; "" without rows."""
    if not len(rows):
        return ""
    canvas = Image.new("RGB", (edge * len(rows), edge), BLANK)
    for place, row in enumerate(rows):
        image = image_of(row)
        if image is not None:
            picture = to_image(image)
            scaling = Image.Resampling.NEAREST if max(picture.size) < edge else Image.Resampling.BOX
            canvas.paste(picture.resize((edge, edge), scaling), (edge * place, 0))
    return encode(canvas, canvas.width, quality, lossless=False)


def to_image(image: np.ndarray) -> Image.Image:
    """image uint8 (3, height, width)."""
    return Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))


def encode(picture: Image.Image, edge: int, quality: int, lossless: bool) -> str:
    """base64 of the picture as WebP, its longer side at most `edge`; tiny ones without loss where that is asked for."""
    if max(picture.size) > edge:
        picture.thumbnail((edge, edge), Image.Resampling.BICUBIC, reducing_gap=2.0)
    stream = io.BytesIO()
    if lossless and max(picture.size) <= TINY:
        picture.save(stream, "WEBP", lossless=True, method=1)
    else:
        picture.save(stream, "WEBP", quality=quality, method=0)
    return base64.b64encode(stream.getvalue()).decode("ascii")
