"""Folders that hold links, pipes, and names that are no valid text."""

import os
from pathlib import Path

import pytest
from image_files import make_folder, save_picture
from sample_rows import rows

from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.sources import read_samples


def test_linked_files_keep_the_class_of_the_link(tmp_path: Path) -> None:
    original = save_picture(tmp_path / "store" / "1.png")
    for name in ("cat", "dog"):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / "1.png").symlink_to(original)
    (tmp_path / "data" / "dog" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    samples = read_samples(tmp_path / "data")
    assert rows(samples) == [
        ("cat/1.png", "train", "cat"),
        ("dog/1.png", "train", "dog"),
        ("dog/gone.png", "train", "dog"),
    ]


def test_link_back_to_a_folder_above_ends(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png"])
    (tmp_path / "cat" / "again").symlink_to(tmp_path)
    assert len(read_samples(tmp_path)) == 2


def test_link_to_itself_costs_one_row(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png"])
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dog" / "circle.png").symlink_to("circle.png")
    samples = read_samples(tmp_path)
    pixels = load_pixels(samples, 8, workers=1, cache_dir=None)
    assert [row[0] for row in rows(samples)] == ["cat/1.png", "dog/1.png", "dog/circle.png"]
    assert pixels.error_codes.tolist() == ["VALID", "VALID", "ERROR_MISSING_FILE"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes in folders")
def test_pipe_without_a_suffix_is_not_opened(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png"])
    os.mkfifo(tmp_path / "dog" / "pipe")
    assert len(read_samples(tmp_path)) == 2


def test_names_that_are_no_valid_text_survive(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png"])
    odd = os.fsencode(tmp_path / "cat") + b"/\xff.png"
    os.link(tmp_path / "cat" / "1.png", odd)
    samples = read_samples(tmp_path)
    assert samples.table["filename"].tolist() == ["cat/1.png", "cat/\udcff.png", "dog/1.png"]
    assert os.path.exists(samples.table["path"][1])
    assert len(samples.fingerprint()) == 64


def test_class_names_that_are_no_valid_text_are_escaped_and_said(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png"])
    os.rename(tmp_path / "dog", os.fsencode(tmp_path) + b"/d\xffg")
    samples = read_samples(tmp_path)
    assert samples.classes == ("cat", "d\\xffg")
    assert samples.label_ids().tolist() == [0, 1]
    assert os.path.exists(samples.table["path"][1])
    assert "Class names that are no valid UTF-8, and what they are called: 'd\\xffg'." in samples.warnings
