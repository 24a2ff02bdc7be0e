"""What `ScanMixClassifier` takes for labels and images, and what it refuses in a sentence."""

import errno
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import scanmix_cli as scanmix
from scanmix_cli.data.decode import decode_file
from scanmix_cli.errors import RunError
from scanmix_cli.workflow.estimator_input import image_files, read_labels

SHORT: dict[str, Any] = {"epochs": 1, "pretrain_epochs": 1, "device": "cpu"}


@pytest.mark.parametrize(
    ("given", "classes", "texts"),
    [
        (pd.Series(["b", None, "a"], dtype="string"), ["a", "b"], ["b", "", "a"]),
        (pd.Series([10, None, 9], dtype="Int64"), [9, 10], ["10", "", "9"]),
        (pd.Series([10, None, 9]), [9, 10], ["10", "", "9"]),
        (pd.Series([1.5, None, 2]), [1.5, 2], ["1.5", "", "2.0"]),
        (pd.Series(["b", None, "a"], dtype="category"), ["a", "b"], ["b", "", "a"]),
        (np.ma.array([1, 2, 3], mask=[False, True, False]), [1, 3], ["1", "", "3"]),
        (list(np.ma.array([1, 2, 3], mask=[False, True, False])), [1, 3], ["1", "", "3"]),
        (np.array([1, 2.5], dtype=object), [1, 2.5], ["1.0", "2.5"]),
        (np.array([True, 0, 2], dtype=object), [0, 1, 2], ["1", "0", "2"]),
        (np.array([b"b", b"a", b""]), ["a", "b"], ["b", "a", ""]),
        (["b", "\u00e9".encode(), "", float("nan")], ["b", "\u00e9"], ["b", "\u00e9", "", ""]),
        ([2**60 + 1, 2**60, None], [2**60, 2**60 + 1], [str(2**60 + 1), str(2**60), ""]),
        (np.array([1.0, 2.0]), [1.0, 2.0], ["1.0", "2.0"]),
    ],
)
def test_labels_of_usual_kinds(given: Any, classes: list, texts: list[str]) -> None:
    found, names, read = read_labels(given)
    assert (found.tolist(), read) == (classes, texts)
    assert set(names) == set(texts) - {""}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1, "1"], "y mixes labels that cannot be told apart or put in order (int, str); give each class a text"),
        (["a\0", "a"], "y mixes labels that cannot be told apart"),
        ([{}, {1: 2}], "y mixes labels that cannot be told apart or put in order (dict); give each class a text"),
        ([[1, 2], [3]], "y mixes labels that cannot be told apart or put in order (list); give each class a text"),
        ([b"\xff", b"a"], "y has the label b'\\xff', which is no UTF-8 text; decode it"),
        (iter("ab"), "y has 0 dimensions; give one label an image"),
    ],
)
def test_labels_that_are_refused(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the sentence is compared below
        read_labels(given)
    assert str(error.value).startswith(sentence)


def test_mixed_numbers_train_and_predict() -> None:
    images = np.random.default_rng(0).integers(0, 60, (16, 16, 16, 3), dtype=np.uint8)
    images[::2, ..., 0] += 150
    model = scanmix.ScanMixClassifier(**SHORT).fit(images, np.array([1, 2.5] * 8, dtype=object))
    assert set(model.predict(images).tolist()) <= {1, 2.5}
    assert model.report_["given_label"].unique().tolist() == model.class_names_ == ["1.0", "2.5"]


def test_pictures_are_taken_as_their_files_are(tmp_path: Path) -> None:
    colours = Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8))
    turned = Image.new("RGB", (16, 16), "white")
    turned.paste("red", (0, 0, 8, 8))
    turned.getexif()[0x0112] = 6
    half = Image.new("RGBA", (16, 16), (255, 0, 0, 128))
    pictures = [colours.quantize(8), colours.convert("L"), half, turned]
    files = [tmp_path / f"{number}.png" for number in range(len(pictures))]
    for picture, file in zip(pictures, files, strict=True):
        picture.save(file, exif=picture.getexif())
    with image_files([*pictures, colours.convert("HSV")]) as paths:
        seen = [decode_file(path, 16).pixels for path in paths]
    for pixels, file in zip(seen, files, strict=False):
        assert np.array_equal(pixels, decode_file(file, 16).pixels)
    back = np.asarray(colours.convert("HSV").convert("RGB")).transpose(2, 0, 1)
    assert np.array_equal(seen[-1], back)


def test_paths_in_a_table_or_one_by_one() -> None:
    names = ["a.png", "b.png"]
    for given in (pd.DataFrame({"path": names}), iter(names), pd.Series(names), np.array(names), map(Path, names)):
        with image_files(given) as paths:
            assert paths == names


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("photos", "X is one text or path ('photos'); give a sequence of paths or pictures"),
        (Path("photos"), "X is one text or path ("),
        (None, "X is None; give a sequence of paths or pictures"),
        (pd.DataFrame({"path": ["a.png"], "size": [1]}), "X is a table of 2 columns; give the one column that holds"),
        ([np.zeros((4, 4), np.uint8), np.zeros((5, 4), np.uint8)], "X holds arrays of several shapes; give arrays of"),
        ([], "X is an array of float64 with shape (0,); give paths of images"),
    ],
)
def test_what_is_no_image_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the sentence is compared below
        scanmix.ScanMixClassifier(**SHORT).fit(given, ["a", "b"])
    assert str(error.value).startswith(sentence)


def test_a_picture_that_is_damaged_is_named(tmp_path: Path) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))
    noise.save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:4000])
    sentence = r"^image 1 of X cannot be read \(.*truncated.*\); mend it or leave it out$"
    with (
        Image.open(tmp_path / "a.png") as good,
        Image.open(tmp_path / "b.png") as bad,
        pytest.raises(ValueError, match=sentence),
    ):
        scanmix.ScanMixClassifier(**SHORT).fit([good, bad], ["a", "b"])


@pytest.mark.parametrize("full", ["folder", "picture"])
def test_no_room_for_temporary_files_is_a_sentence(full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if full == "folder":
        monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    else:
        monkeypatch.setattr(Image.Image, "save", refuse)
    with pytest.raises(RunError, match=r"^temporary files cannot be written \(No space left on device\): make room"):
        scanmix.ScanMixClassifier(**SHORT).fit(np.zeros((2, 8, 8), np.uint8), ["a", "b"])
