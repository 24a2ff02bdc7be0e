"""Names within an export: unique, and such as every file system takes."""

from pathlib import Path

from handoff_run import HandoffRun

from scanmix_cli.export.names import class_folder, class_folders, folded, unique_stems
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions
from scanmix_cli.workflow.handoff import export_run


def test_stems_are_unique_without_case_and_on_windows() -> None:
    names = [
        "a/x.png",
        "b/x.jpg",
        "c/X.png",
        "x-2.png",
        "con:1?.png",
        "d\\y.png",
        "é.png",
        "e\u0301.png",
        "...",
        "z" * 300,
    ]
    stems = unique_stems(names)
    assert stems[:6] == ["x", "x-2", "X-3", "x-2-2", "con_1_", "y"]
    assert len({folded(stem) for stem in stems}) == len(names)
    assert stems[8] == "image"
    assert len(stems[9]) == 200


def test_class_folders_keep_the_label_where_they_can() -> None:
    assert [class_folder(label) for label in ("01", "=cat", "a/b", ".", "..", ".x")] == [
        "01", "=cat", "a%2Fb", "%2E", "%2E.", "%2Ex",
    ]  # fmt: skip


def test_labels_that_look_like_escapes_keep_a_folder_of_their_own() -> None:
    labels = ["a/b", "a%2Fb", "a%252Fb", "100%", "%", "5 % off", "%/", "%2/F"]
    folders = [class_folder(label) for label in labels]
    assert folders == ["a%2Fb", "a%252Fb", "a%25252Fb", "100%", "%", "5 % off", "%%2F", "%2%2FF"]
    assert class_folder("half \udcff") == "half %FF" != class_folder("half %FF")


def test_class_folders_differ_by_more_than_case(own_run: HandoffRun, tmp_path: Path) -> None:
    labels = ["cat", "Cat", "é", "e\u0301", "a/b", "A%2fb", "X" * 255, "x" * 255]
    folders = class_folders(reversed(labels))
    assert {label for label in labels if folders[label] == class_folder(label)} == {
        "Cat",
        "e\u0301",
        "A%2fb",
        "X" * 255,
    }
    assert folders["cat"] == "cat%~77af778b51abd4a3"
    assert len({folded(folder) for folder in folders.values()}) == len(labels)
    assert all(len(folder.encode()) <= 255 for folder in folders.values())
    with open_decisions(own_run.folder) as log:
        choices = [Choice(0, "01/a b.png", "relabel", "cat"), Choice(1, "01/ünï.png", "relabel", "Cat")]
        log.record_all(choices, who="ada", source="review")
    assert export_run(own_run.folder, "imagefolder", tmp_path / "out").rows == 9
    assert (tmp_path / "out/train/cat%~77af778b51abd4a3/a b.png").is_file()
    assert (tmp_path / "out/train/Cat/ünï.png").is_file()


def test_long_labels_get_a_shorter_folder_each_and_lose_no_image(own_run: HandoffRun, tmp_path: Path) -> None:
    first, second = "ü" * 150 + "1", "ü" * 150 + "2"
    shortened = class_folder(first)
    labels = ("x" * 255, first, second, shortened)
    folders = [class_folder(label) for label in labels]
    assert folders[0] == labels[0]
    assert shortened.startswith("ü" * 100)
    assert len(set(folders)) == 4
    assert all(len(folder.encode()) <= 255 for folder in folders)
    with open_decisions(own_run.folder) as log:
        log.record_all(
            [Choice(0, "01/a b.png", "relabel", first), Choice(1, "01/ünï.png", "relabel", second)],
            who="ada",
            source="review",
        )
    assert export_run(own_run.folder, "imagefolder", tmp_path / "out").rows == 9
    assert (tmp_path / "out/train" / shortened / "a b.png").is_file()
    assert (tmp_path / "out/train" / class_folder(second) / "ünï.png").is_file()
