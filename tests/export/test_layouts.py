"""Every layout is opened by the library of the tool that it is for, or checked against what that tool publishes."""

import csv
import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlparse

import numpy as np
import pyarrow.parquet
import pytest
from handoff_run import CLASSES, KEEP, READABLE, ROWS, HandoffRun
from PIL import Image
from torchvision.datasets import ImageFolder

from scanmix_cli.data.sources import read_samples
from scanmix_cli.export.formats import FORMATS
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions
from scanmix_cli.workflow.handoff import export_run

TRAIN_LABELS = {  # by row, for the rows of --only keep
    0: "01", 1: "=cat", 2: "=cat", 3: "=cat", 5: "Hündin/è", 6: "01", 11: "01", 12: "NA",
}  # fmt: skip
STEMS = {
    0: "a b", 1: "ünï", 2: "a b-2", 3: "A B-3", 5: "空 #1&2", 6: "u1", 7: "u2", 8: "t", 9: "noise", 11: "bare",
    12: "b%FF",
}  # fmt: skip


def manifest(folder: Path) -> list[dict[str, str]]:
    with (folder / "manifest.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same_picture(run: HandoffRun, row: int, path: Path) -> bool:
    return path.read_bytes() == (run.data / ROWS[row].filename).read_bytes()


def test_torchvision_reads_imagefolder(finished: HandoffRun, tmp_path: Path) -> None:
    done = export_run(finished.folder, "imagefolder", tmp_path / "out")
    assert (done.rows, done.gone, done.copied_instead) == (9, [], 0)
    train = ImageFolder(tmp_path / "out" / "train")
    assert train.classes == ["01", "=cat", "Hündin%2Fè", "NA"]
    found = {Path(path).stem: train.classes[label] for path, label in train.samples}
    assert found == {STEMS[row]: label.replace("/", "%2F") for row, label in TRAIN_LABELS.items()}
    assert [path.stem for path in (tmp_path / "out/test/NA").iterdir()] == ["t"]
    lines = manifest(tmp_path / "out")
    assert [int(line["row"]) for line in lines] == KEEP
    assert lines[1]["label"] == "'=cat"  # harmless in a spreadsheet
    assert all(same_picture(finished, int(line["row"]), tmp_path / "out" / line["file_name"]) for line in lines)


def test_images_without_a_label_lie_beside_the_splits(finished: HandoffRun, tmp_path: Path) -> None:
    export_run(finished.folder, "imagefolder", tmp_path / "out", only="all")
    assert [path.name for path in (tmp_path / "out/unlabelled").iterdir()] == ["u2.png"]
    assert len(ImageFolder(tmp_path / "out" / "train")) == 9  # with the one to drop, under its given label


def test_scanmix_reads_its_own_table(finished: HandoffRun, tmp_path: Path) -> None:
    export_run(finished.folder, "csv", tmp_path / "out", link="hard")
    samples = read_samples(tmp_path / "out" / "labels.csv")
    held_out = samples.table["split"] == "test"
    assert samples.table.loc[~held_out, "given_label"].tolist() == list(TRAIN_LABELS.values())
    assert samples.table.loc[held_out, "given_label"].tolist() == ["NA"]
    assert all(Path(path).is_file() for path in samples.table["path"])


def test_hugging_face_reads_hf_and_imagefolder(
    finished: HandoffRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    datasets.disable_progress_bars()
    for layout in ("hf", "imagefolder"):
        export_run(finished.folder, layout, tmp_path / layout)
    loaded = datasets.load_dataset(str(tmp_path / "hf"), cache_dir=str(tmp_path / "cache"))
    assert {name: len(part) for name, part in loaded.items()} == {"train": 8, "test": 1}
    rows = {row["given_label"] + "|" + row["label"]: row for row in loaded["train"]}
    assert sorted(row["label"] for row in loaded["train"]) == sorted(TRAIN_LABELS.values())
    changed = rows["01|=cat"]
    assert (changed["p_mislabeled"], changed["confidence"]) == (0.97, 0.9)
    assert changed["image"].size == (32, 24)
    numbers = loaded["train"].cast_column("label", datasets.ClassLabel(names=list(CLASSES)))
    assert set(numbers["label"]) == {0, 1, 2, 3}
    folder = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path / "imagefolder"), cache_dir=str(tmp_path / "cache")
    )
    assert {name: len(part) for name, part in folder.items()} == {"train": 8, "test": 1}


def test_unlabelled_images_have_no_label_in_hf(finished: HandoffRun, tmp_path: Path) -> None:
    export_run(finished.folder, "hf", tmp_path / "out", only="all")
    table = pyarrow.parquet.read_table(tmp_path / "out/train/metadata.parquet").to_pylist()
    assert {row["file_name"]: row["label"] for row in table}["u2.png"] is None


def test_a_class_that_decisions_brought_in_stands_in_string_order(own_run: HandoffRun, tmp_path: Path) -> None:
    with open_decisions(own_run.folder) as log:
        log.record(Choice(0, ROWS[0].filename, "relabel", "Bär"), who="ada", source="review")
    for layout in ("hf", "coco", "cleanlab"):
        export_run(own_run.folder, layout, tmp_path / layout, device="cpu")
    names = ["01", "=cat", "Bär", "Hündin/è", "NA"]
    card = (tmp_path / "hf" / "README.md").read_text(encoding="utf-8")
    assert "For class numbers in string order:\n\n    data.cast_column(" in card
    assert f"names={json.dumps(names)})" in card
    coco = json.loads((tmp_path / "coco" / "annotations.json").read_text(encoding="utf-8"))
    assert [category["name"] for category in coco["categories"]] == names
    columns = json.loads((tmp_path / "cleanlab" / "classes.json").read_text(encoding="utf-8"))
    assert columns == list(CLASSES), "the classifier's"


def test_pycocotools_reads_coco(finished: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coco = pytest.importorskip("pycocotools.coco", reason="the package pycocotools is not installed")
    export_run(finished.folder, "coco", tmp_path / "out", only="all")
    loaded = coco.COCO(str(tmp_path / "out" / "annotations.json"))
    assert [category["name"] for category in loaded.loadCats(loaded.getCatIds())] == list(CLASSES)
    assert (len(loaded.getImgIds()), len(loaded.getAnnIds())) == (11, 10)
    cats = loaded.getImgIds(catIds=loaded.getCatIds(catNms=["=cat"]))
    assert {image["file_name"] for image in loaded.loadImgs(cats)} == {
        "images/ünï.png", "images/a b-2.png", "images/A B-3.jpg",
    }  # fmt: skip
    for image in loaded.loadImgs(loaded.getImgIds()):
        with Image.open(tmp_path / "out" / image["file_name"]) as picture:
            assert picture.size == (image["width"], image["height"])
    assert loaded.annToMask(loaded.loadAnns([1])[0]).all()  # the box is the whole image


def test_fiftyone_layout(finished: HandoffRun, tmp_path: Path) -> None:
    """As FiftyOneImageClassificationDataset is documented: data/, and in labels.json a label by uuid, which is the file
    name without suffix, found by walking data/."""
    export_run(finished.folder, "fiftyone", tmp_path / "out")
    content = json.loads((tmp_path / "out" / "labels.json").read_text(encoding="utf-8"))
    assert content["classes"] == list(CLASSES)
    on_disk = [os.path.splitext(path.name)[0] for path in (tmp_path / "out" / "data").iterdir()]
    assert sorted(on_disk) == sorted(content["labels"])
    assert len(on_disk) == len(set(on_disk)) == len(READABLE)
    assert content["labels"]["u2"] is None
    label = content["labels"]["ünï"]
    assert (label["label"], label["confidence"]) == ("=cat", 0.9)
    assert label["attributes"]["given_label"] == "01"
    assert "confidence" not in content["labels"]["t"]


def test_label_studio_tasks(finished: HandoffRun, tmp_path: Path) -> None:
    """As Label Studio documents tasks with predictions: names and choices are those of the interface, files are found
    below its document root."""
    export_run(finished.folder, "labelstudio", tmp_path / "out")
    interface = ElementTree.parse(tmp_path / "out" / "interface.xml").getroot()
    image, choices = interface.find("Image"), interface.find("Choices")
    assert image is not None
    assert choices is not None
    assert [choice.get("value") for choice in choices] == list(CLASSES)
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    assert [task["data"]["row"] for task in tasks] == READABLE
    for task in tasks:
        address = urlparse(task["data"][image.get("value", "").removeprefix("$")])
        (place,) = parse_qs(address.query)["d"]
        assert address.path == "/data/local-files/"
        assert same_picture(finished, task["data"]["row"], tmp_path / "out" / place)
        (result,) = task["predictions"][0]["result"]
        assert (result["from_name"], result["to_name"]) == (choices.get("name"), image.get("name"))
        assert result["type"] == "choices"
        assert result["value"]["choices"][0] in CLASSES
    assert "空 #1&2" in unquote(tasks[READABLE.index(5)]["data"]["image"])


def test_label_studio_validates_the_tasks(finished: HandoffRun, tmp_path: Path) -> None:
    sdk = pytest.importorskip(
        "label_studio_sdk.label_interface", reason="label-studio-sdk is not installed: it holds back numpy"
    )
    export_run(finished.folder, "labelstudio", tmp_path / "out")
    interface = sdk.LabelInterface((tmp_path / "out" / "interface.xml").read_text(encoding="utf-8"))
    interface.validate()
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    assert all(interface.validate_prediction(prediction) for task in tasks for prediction in task["predictions"])


def test_cvat_annotations(finished: HandoffRun, tmp_path: Path) -> None:
    """As "CVAT for images 1.1" is documented: version, labels in meta, an image each with one tag."""
    export_run(finished.folder, "cvat", tmp_path / "out")
    root = ElementTree.parse(tmp_path / "out" / "annotations.xml").getroot()
    assert (root.tag, root.findtext("version")) == ("annotations", "1.1")
    assert [name.text for name in root.findall("meta/task/labels/label/name")] == list(CLASSES)
    images = root.findall("image")
    assert [image.get("id") for image in images] == [str(k) for k in range(11)]
    for image in images:
        with Image.open(tmp_path / "out" / "images" / image.get("name", "")) as picture:
            assert (image.get("width"), image.get("height")) == (str(picture.width), str(picture.height))
    tags = {image.get("name"): [(tag.get("label"), tag.get("source")) for tag in image] for image in images}
    assert tags["ünï.png"] == [("=cat", "auto")]
    assert tags["空 #1&2.png"] == [("Hündin/è", "manual")]
    assert tags["u2.png"] == []


def test_cleanlab_takes_labels_and_probabilities(finished: HandoffRun, tmp_path: Path) -> None:
    filters = pytest.importorskip("cleanlab.filter", reason="the package cleanlab is not installed")
    done = export_run(finished.folder, "cleanlab", tmp_path / "out", device="cpu")
    labels, probabilities = (np.load(tmp_path / "out" / name) for name in ("labels.npy", "pred_probs.npy"))
    issues = filters.find_label_issues(labels, probabilities)
    given = [row for row in ROWS if row.code == "VALID" and row.split == "train" and row.given]
    assert issues.shape == (len(given),) == (done.rows,)
    assert [CLASSES[label] for label in labels] == [row.given for row in given]
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    table = list(csv.DictReader((tmp_path / "out/issues.csv").open(newline="", encoding="utf-8")))
    flagged = [line["filename"] for line in table if line["is_label_issue"] == "True"]
    assert flagged == ["01/ünï.png", "dogs/空 #1&2.png", "01/noise.png"]


@pytest.mark.parametrize("layout", [name for name in FORMATS if name != "embeddings"])
def test_every_table_is_valid_utf8(finished: HandoffRun, tmp_path: Path, layout: str) -> None:
    """Though a file name of the run is not."""
    export_run(finished.folder, layout, tmp_path / "out", device="cpu")
    for path in (tmp_path / "out").rglob("*"):
        path.name.encode("utf-8")
        if path.suffix in (".csv", ".json", ".xml", ".md"):
            path.read_text(encoding="utf-8")


def test_embeddings_are_the_same_in_both_files(finished: HandoffRun, tmp_path: Path) -> None:
    export_run(finished.folder, "embeddings", tmp_path / "out", device="cpu")
    array = np.load(tmp_path / "out" / "embeddings.npy")
    assert (array.shape, array.dtype) == ((11, 256), np.dtype("float32"))
    table = pyarrow.parquet.read_table(tmp_path / "out" / "embeddings.parquet")
    assert np.array_equal(np.array(table["embedding"].to_pylist(), np.float32), array)
    assert table["row"].to_pylist() == [int(line["row"]) for line in manifest(tmp_path / "out")] == READABLE
    assert len({row.tobytes() for row in array}) == 11
