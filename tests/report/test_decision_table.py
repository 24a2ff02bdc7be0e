"""Decisions as a table: out and in again, and in as people write it."""

from pathlib import Path

import pytest

from scanmix_cli.errors import DataError
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decision_table import is_decision_table
from scanmix_cli.report.decisions import Imported, open_decisions, read_current
from scanmix_cli.report.export import TABLES
from scanmix_cli.report.result_table import open_result_table

CLASSES = ["01", "=cmd", "dog"]
NAMES = ["a/1.png", "=b.png", "c\udcff, d.png", "twice.png", "twice.png"]


def relabel(row: int, label: str = "dog") -> Choice:
    return Choice(row, NAMES[row], "relabel", label)


def test_csv_comes_back_as_it_went_and_a_second_import_adds_nothing(tmp_path: Path) -> None:
    out = tmp_path / "decisions.csv"
    with open_decisions(tmp_path) as log:
        log.record_all(
            [relabel(1, "=cmd"), relabel(2, "01"), Choice(4, NAMES[4], "unsure")], who="ada", source="review"
        )
        assert log.export_csv(out) == 3
        before = log.current()
    text = out.read_text(encoding="utf-8", errors="surrogateescape")
    assert text.splitlines()[0] == "id,row,filename,decision,label,who,when,source"
    assert "'=b.png,relabel,'=cmd" in text
    (tmp_path / "other").mkdir()
    with open_decisions(tmp_path / "other") as log:
        assert log.import_csv(out, NAMES, CLASSES) == Imported(new=3, known=0, foreign=0)
        assert log.import_csv(out, NAMES, CLASSES) == Imported(new=0, known=3, foreign=0)
        again = log.current()
    assert {row: (entry.filename, entry.decision, entry.label) for row, entry in again.items()} == {
        row: (entry.filename, entry.decision, entry.label) for row, entry in before.items()
    }


def test_a_csv_by_hand_needs_only_names_and_decisions(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("filename,decision\na/1.png,keep\ntwice.png,drop\nelsewhere.png,drop\n", encoding="utf-8-sig")
    with open_decisions(tmp_path) as log:
        assert log.import_csv(table, NAMES, CLASSES) == Imported(new=1, known=0, foreign=1, repeated=1)
        assert list(log.current()) == [0]


def test_a_name_that_held_out_images_share_is_the_training_images(tmp_path: Path) -> None:
    table, names = tmp_path / "mine.csv", ["a.png", "b.png", "b.png", "a.png", "c.png", "c.png"]
    training = [True, True, True, False, False, False]
    table.write_text("filename,decision\na.png,keep\nb.png,drop\nc.png,drop\n")
    with open_decisions(tmp_path) as log:
        done = log.import_csv(table, names, CLASSES, training=training)
        assert (done.new, done.foreign, done.repeated) == (1, 0, 2)
        assert list(log.current()) == [0]
        table.write_text("row,filename,decision\n3,a.png,keep\n2,b.png,drop\n")
        assert log.import_csv(table, names, CLASSES, training=training) == Imported(new=2, known=0)
        assert sorted(log.current()) == [0, 2, 3]


def test_a_row_number_of_thousands_of_digits_is_no_row(tmp_path: Path) -> None:
    table, number = tmp_path / "mine.csv", "1" * 5000
    table.write_text(f"row,filename,decision\n{number},a/1.png,keep\n{number},nobody.png,keep\n")
    with open_decisions(tmp_path) as log:
        assert log.import_csv(table, NAMES, CLASSES) == Imported(new=1, known=0, foreign=1)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "filename,decision\na/1.png,relabel,dog\n",
            r"mine\.csv, line 2, has 3 cells where the header has 2; quote cells that contain ','$",
        ),
        (b"\xff\xfef", r"mine\.csv is not utf-16 text \(byte 2\); save it as UTF-8$"),
        (b"filename,decision\n\x81,keep\n", r"mine\.csv is not UTF-8 text; save it as UTF-8$"),
        (
            "filename,what\na,b\n",
            r"mine\.csv has no column 'decision'; columns found: filename, what; its header should be id,row,filename,",
        ),
        (
            "filename,decision\na/1.png,keep\ntwice.png,delete\n",
            r"mine\.csv, row 2: decision 'delete' is unknown; use one of keep, relabel, drop, unsure$",
        ),
        (
            "filename,decision\na/1.png,relabel\n",
            r"mine\.csv, row 1: decision 'relabel' needs a label; mend that row$",
        ),
        (
            "filename,decision,label\na/1.png,relabel,dgo\n",
            r"^no class of this run is named 'dgo' \(.*mine\.csv, for a/1\.png\): mend the label, or take new classes "
            r"in with `scanmix import .*mine\.csv --run .* --new-classes`$",
        ),
        (
            "filename,decision\nb.png,keep\nc.png,drop\n",
            r"mine\.csv names no image of this run \(2 names looked for\): name the run that it is about with --run$",
        ),
        (
            "filename,decision\nb.png,keep\ntwice.png,drop\n",
            r"mine\.csv names no image that is the only one of its name in this run \(twice\.png is there several "
            r"times\): add the column row, the image's row of report\.csv counted from 0$",
        ),
    ],
)
def test_a_wrong_csv_is_refused_whole(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    table = tmp_path / "mine.csv"
    table.write_bytes(content.encode() if isinstance(content, str) else content)
    with open_decisions(tmp_path) as log:
        with pytest.raises(DataError, match=sentence):
            log.import_csv(table, NAMES, CLASSES)
        assert log.current() == {}


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("mine.csv", "filename;decision;label\r\nä/1.png;keep;\r\nb, c.png;relabel;dog\r\n", "utf-8"),
        ("mine.csv", "filename;decision;label\nä/1.png;keep;\nb, c.png;relabel;dog\n", "cp1252"),
        ("mine.csv", 'filename,decision,label\nä/1.png,keep,\n"b, c.png",relabel,dog\n', "utf-16"),
        ("mine.tsv", "filename\tdecision\tlabel\nä/1.png\tkeep\t\nb, c.png\trelabel\tdog\n", "utf-8"),
        ("mine.csv", "sep=;\nfilename;decision;label\nä/1.png;keep;\nb, c.png;relabel;dog\n;;\n", "utf-8-sig"),
        ("mine.csv", 'File Name,Decision,Label\nä/1.png,Keep,\n"b, c.png", RELABEL,dog\n', "utf-8"),
        ("mine.csv", 'label,file_name,decision\n,ä/1.png,keep\ndog,"b, c.png",relabel\n', "utf-8"),
        ("mine", 'filename,decision,label\nä/1.png,keep,\n"b, c.png",relabel,dog\n', "utf-8"),
        (
            "mine.jsonl",
            '{"filename": "ä/1.png", "decision": "keep"}\n'
            '{"filename": "b, c.png", "decision": "relabel", "label": "dog", "box": [1, 2]}\n',
            "utf-8",
        ),
    ],
)
def test_a_table_is_read_as_data_tables_are(tmp_path: Path, name: str, content: str, encoding: str) -> None:
    table = tmp_path / name
    table.write_bytes(content.encode(encoding))
    with open_decisions(tmp_path) as log:
        assert log.import_csv(table, ["ä/1.png", "b, c.png"], CLASSES) == Imported(new=2, known=0)
        assert [(entry.decision, entry.label) for entry in log.standing()] == [("keep", ""), ("relabel", "dog")]


@pytest.mark.parametrize("suffix", TABLES)
def test_a_table_without_decisions_changes_nothing(tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"none{suffix}"
    with open_decisions(tmp_path) as log:
        assert log.export_csv(table) == 0
        assert log.import_csv(table, NAMES, CLASSES) == Imported(new=0, known=0)
    assert is_decision_table(open_result_table(table, NAMES))


@pytest.mark.parametrize("suffix", TABLES)
def test_names_that_are_no_utf8_come_back(tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"decisions{suffix}"
    with open_decisions(tmp_path) as log:
        log.record_all([relabel(2), Choice(4, NAMES[4], "drop")], who="ada", source="review")
        assert log.export_csv(table) == 2
        assert log.import_csv(table, NAMES, CLASSES) == Imported(new=0, known=2)
    (tmp_path / "other").mkdir()
    with open_decisions(tmp_path / "other") as log:
        assert log.import_csv(table, NAMES, CLASSES) == Imported(new=2, known=0)
        assert log.current()[2].filename == NAMES[2]


@pytest.mark.parametrize("suffix", TABLES)
def test_names_like_guarded_formulas_come_back(tmp_path: Path, suffix: str) -> None:
    names, table = ["'=a.png", "=a.png", "''-b.png"], tmp_path / f"decisions{suffix}"
    with open_decisions(tmp_path) as log:
        log.record_all([Choice(row, name, "relabel", name) for row, name in enumerate(names)], who="'=eve", source="-")
        log.export_csv(table)
        assert log.import_csv(table, names, []) == Imported(new=0, known=3)
    (tmp_path / "other").mkdir()
    with open_decisions(tmp_path / "other") as log:
        assert log.import_csv(table, names, names) == Imported(new=3, known=0)
        found = [(entry.filename, entry.label, entry.who) for entry in log.standing()]
    assert sorted(found) == sorted((name, name, "'=eve") for name in names)


def decide(folder: Path) -> Path:
    """Two decisions of people and one of a tool in the run, written as a table."""
    folder.mkdir(exist_ok=True)
    with open_decisions(folder) as log:
        log.record(relabel(0), who="ada", source="review")
        log.record(Choice(1, NAMES[1], "drop"), who="=eve", source="csv")
        log.record(relabel(3, "01"), who="root", source="cleanlab")
        log.export_csv(folder / "decisions.csv")
    return folder / "decisions.csv"


def who_decided(folder: Path) -> dict[int, tuple[str, str, str]]:
    return {row: (entry.decision, entry.who, entry.source) for row, entry in read_current(folder).items()}


def test_a_table_comes_back_into_its_run_as_it_went(tmp_path: Path) -> None:
    table = decide(tmp_path)
    with open_decisions(tmp_path) as log:
        assert log.import_csv(table, NAMES, CLASSES, who="bob") == Imported(new=0, known=3)
        log.export_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == table.read_bytes()


def test_who_decided_goes_along_into_another_run(tmp_path: Path) -> None:
    table = decide(tmp_path / "first")
    nameless = tmp_path / "nameless.csv"
    nameless.write_text(f"filename,row,decision,who,source\n{NAMES[4]},4,keep,,\n")
    (tmp_path / "second").mkdir()
    with open_decisions(tmp_path / "second") as log:
        assert log.import_csv(table, NAMES, CLASSES, who="bob") == Imported(new=3, known=0)
        assert log.import_csv(nameless, NAMES, CLASSES, who="bob") == Imported(new=1, known=0)
    assert who_decided(tmp_path / "second") == {
        0: ("relabel", "ada", "review"),
        1: ("drop", "=eve", "csv"),
        3: ("relabel", "root", "cleanlab"),
        4: ("keep", "bob", "csv"),
    }


def test_what_is_changed_in_the_table_was_decided_by_who_imports_it(tmp_path: Path) -> None:
    table = decide(tmp_path)
    changed = table.read_text().replace("relabel,dog,ada", "keep,,ada").replace("relabel,01,root", "keep,,root")
    table.write_text(changed)
    with open_decisions(tmp_path) as log:
        assert log.import_csv(table, NAMES, CLASSES, who="bob") == Imported(new=2, known=1)
    assert who_decided(tmp_path) == {0: ("keep", "bob", "csv"), 1: ("drop", "=eve", "csv"), 3: ("keep", "bob", "csv")}


def test_what_a_tool_decided_in_a_table_leaves_people_alone(tmp_path: Path) -> None:
    table = decide(tmp_path / "first")
    (tmp_path / "second").mkdir()
    with open_decisions(tmp_path / "second") as log:
        log.record(Choice(3, NAMES[3], "keep"), who="bob", source="review")
        assert log.import_csv(table, NAMES, CLASSES, who="bob") == Imported(new=2, known=0, left=1)
    assert who_decided(tmp_path / "second")[3] == ("keep", "bob", "review")
