"""Results of other tools come back as decisions about the right rows."""

import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from handoff_run import CLASSES, READABLE, ROWS, HandoffRun, decided, report_table, run

from scanmix_cli.errors import DataError
from scanmix_cli.export.results import read_results
from scanmix_cli.files import write_text
from scanmix_cli.report.decided import read_decided_report
from scanmix_cli.report.decisions import read_current
from scanmix_cli.report.spreadsheet import csv_text
from scanmix_cli.workflow.handoff import export_run


def annotated(tasks: list[dict], row: int, label: str | None) -> None:
    """Answer the task as Label Studio's JSON export has it; None is a skipped task."""
    task = next(task for task in tasks if task["data"]["row"] == row)
    result = [] if label is None else [{**task["predictions"][0]["result"][0], "value": {"choices": [label]}}]
    task["annotations"] = [{"result": result, "was_cancelled": label is None, "updated_at": "2026-11-28T01:00:00Z"}]


def test_a_round_through_label_studio(own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export_run(own_run.folder, "labelstudio", tmp_path / "out")
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    annotated(tasks, 1, "01")
    annotated(tasks, 5, "NA")
    annotated(tasks, 9, None)
    annotated(tasks, 12, "=cat")
    result = tmp_path / "project.json"
    result.write_text(json.dumps([task for task in tasks if "annotations" in task]), encoding="utf-8")
    assert run("import", result, "--run", own_run.folder, "--who", "ada", "--json") == 0
    told = capsys.readouterr()
    assert told.err == "4 decisions from labelstudio\n"
    assert json.loads(told.out) == {
        "run": str(own_run.folder), "source": "labelstudio", "new": 4, "known": 0, "left": 0, "foreign": 0,
        "repeated": 0, "undecided": 0, "new_classes": [],
    }  # fmt: skip
    expected = {1: ("keep", ""), 5: ("relabel", "NA"), 9: ("unsure", ""), 12: ("relabel", "=cat")}
    assert decided(own_run) == expected
    assert {entry.who for entry in read_current(own_run.folder).values()} == {"ada"}
    assert run("import", result, "--run", own_run.folder) == 0
    assert capsys.readouterr().err == "0 decisions from labelstudio, 4 stood already\n"


def test_flat_records_and_uploaded_names_of_label_studio(tmp_path: Path) -> None:
    result = tmp_path / "min.json"
    records = [
        {"image": "/data/upload/1/0a1b2c3d-%C3%BCn%C3%AF.png", "id": 1, "label": "NA"},
        {"image": "/data/local-files/?d=images/a%20b-2.png", "id": 2, "choice": "=cat"},
        {"image": "/data/upload/1/0a1b2c3d-elsewhere.png", "id": 3, "label": "NA"},
        {"image": "/data/upload/1/0a1b2c3d-t.png", "id": 4},
    ]
    result.write_text(json.dumps(records), encoding="utf-8")
    results = read_results(result, report_table(), CLASSES)
    assert [(choice.row, choice.decision) for choice in results.choices] == [(1, "relabel"), (2, "keep")]
    assert results.unfound.foreign == 1


@pytest.mark.parametrize("zipped", [False, True])
def test_a_round_through_cvat(own_run: HandoffRun, tmp_path: Path, zipped: bool) -> None:
    export_run(own_run.folder, "cvat", tmp_path / "out")
    tree = ElementTree.parse(tmp_path / "out" / "annotations.xml")
    for image in tree.getroot().findall("image"):
        if image.get("name") == "a b-2.png":
            image[0].set("label", "Hündin/è")
    result = tmp_path / "result.xml"
    tree.write(result, encoding="utf-8", xml_declaration=True)
    if zipped:
        result = tmp_path / "result.zip"
        with zipfile.ZipFile(result, "w") as archive:
            archive.write(tmp_path / "result.xml", "annotations.xml")
    assert run("import", result, "--run", own_run.folder) == 0
    found = decided(own_run)
    assert sorted(found) == [row for row in READABLE if row != 7]  # the row without a tag is not decided
    assert found[2] == ("relabel", "Hündin/è")
    assert found[1] == ("relabel", "=cat")
    assert found[0] == found[9] == found[12] == ("keep", "")


def test_a_round_through_cleanlab(own_run: HandoffRun, tmp_path: Path) -> None:
    export_run(own_run.folder, "cleanlab", tmp_path / "out", device="cpu")
    assert run("import", tmp_path / "out" / "issues.csv", "--run", own_run.folder) == 0
    assert decided(own_run) == {1: ("relabel", "=cat"), 5: ("relabel", "NA"), 9: ("relabel", "NA")}


def test_the_table_that_cleanlab_itself_makes(own_run: HandoffRun, tmp_path: Path) -> None:
    """Without file names and with class numbers; the rows are those of the export, in its order."""
    cleanlab = pytest.importorskip("cleanlab", reason="the package cleanlab is not installed")
    labels = np.array([CLASSES.index(r.given) for r in ROWS if r.given and r.code == "VALID" and r.split == "train"])
    probabilities = np.full((len(labels), len(CLASSES)), 0.01)
    probabilities[np.arange(len(labels)), labels] = 0.97
    probabilities[2] = [0.97, 0.01, 0.01, 0.01]
    issues = cleanlab.filter.find_label_issues(labels, probabilities)
    table = pd.DataFrame(
        {"is_label_issue": issues, "given_label": labels, "predicted_label": probabilities.argmax(axis=1)}
    )
    table.to_csv(tmp_path / "issues.csv")
    assert run("import", tmp_path / "issues.csv", "--run", own_run.folder) == 0
    assert decided(own_run) == {2: ("relabel", "01")}
    table[:5].to_csv(tmp_path / "short.csv")
    with pytest.raises(DataError, match="has 5 rows and no column 'filename', but the run has 8 labelled images in 13"):
        read_results(tmp_path / "short.csv", report_table(), CLASSES)


def test_our_own_csv_comes_in_by_the_same_command(
    own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("filename,decision,label\n01/a b.png,drop,\n'=cat/a b.png,relabel,'=new\n", encoding="utf-8")
    assert run("import", table, "--run", own_run.folder) == 2
    assert capsys.readouterr().err == (
        f"scanmix: no class of this run is named '=new' ({table}, for =cat/a b.png): mend the label, or take new "
        f"classes in with `scanmix import {table} --run {own_run.folder} --new-classes`\n"
    )
    assert not (own_run.folder / "decisions.sqlite").exists()
    assert run("import", table, "--run", own_run.folder, "--new-classes", "--json") == 0
    told = capsys.readouterr()
    assert told.err == "2 decisions from csv, new to the run: '=new'\n"
    assert json.loads(told.out)["new_classes"] == ["=new"]
    assert decided(own_run) == {0: ("drop", ""), 2: ("relabel", "=new")}
    assert run("import", table, "--run", own_run.folder) == 0
    assert capsys.readouterr().err == "0 decisions from csv, 2 stood already\n"


def test_names_that_several_images_have_are_told(
    own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_table()
    names = ["01/a b.png", "01/ünï.png"]
    report.loc[[8, 9], "filename"] = names  # one is held out, the other trained on too
    write_text(own_run.folder / "report.csv", csv_text(report))
    lines = "".join(f"{name},drop\n" for name in (*names, "bird/a b.png"))
    (tmp_path / "mine.csv").write_text(f"filename,decision\n{lines}", encoding="utf-8")
    told = (
        "1 name no image of this run, 1 name several images of this run (add the column row, counted from 0 in "
        "report.csv)\n"
    )
    assert run("import", tmp_path / "mine.csv", "--run", own_run.folder, "--json") == 0
    ours = capsys.readouterr()
    assert ours.err == f"1 decision from csv, {told}"
    assert json.loads(ours.out)["repeated"] == 1
    assert decided(own_run) == {0: ("drop", "")}
    lines = "".join(f"{name},True,NA\n" for name in (*names, "bird/a b.png", own_run.data / "=cat/a b.png"))
    table = f"filename,is_label_issue,predicted_label\n{lines}loose/u1.png,True,{'1' * 5000}\n"
    (tmp_path / "issues.csv").write_text(table, encoding="utf-8")
    command = ("import", tmp_path / "issues.csv", "--run", own_run.folder, "--new-classes", "--replace")
    assert run(*command) == 0
    assert told.rstrip() in capsys.readouterr().err
    assert decided(own_run) == dict.fromkeys((0, 2), ("relabel", "NA")) | {6: ("relabel", "1" * 5000)}
    mine = "filename,decision,row\n01/ünï.png,keep,9\n01/ünï.png,drop,\n"
    (tmp_path / "mine.csv").write_text(mine, encoding="utf-8")
    assert run("review", "--run", own_run.folder, "--import", tmp_path / "mine.csv") == 0
    assert "1 new decision, 0 known already, 1 name several images" in capsys.readouterr().err
    assert decided(own_run)[9] == ("keep", "")


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("mine.csv", "filename;decision;label\r\n01/ünï.png;Keep;\r\n", "utf-16"),
        ("mine.tsv", "file_name\tdecision\n01/ünï.png\tkeep\n", "utf-8"),
        ("mine.json", '[{"file_name": "01/ünï.png", "decision": "keep"}]', "utf-8"),
        ("issues.csv", "filename;is_label_issue;predicted_label\n01/ünï.png;True;01\n", "cp1252"),
    ],
)
def test_tables_are_read_as_data_tables_are(
    own_run: HandoffRun, tmp_path: Path, name: str, content: str, encoding: str
) -> None:
    (tmp_path / name).write_bytes(content.encode(encoding))
    assert run("import", tmp_path / name, "--run", own_run.folder) == 0
    assert [row for row, _ in decided(own_run).items()] == [1]


def test_a_tool_does_not_overrule_people_unless_asked(
    own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people, tool = tmp_path / "mine.csv", tmp_path / "cleanlab.csv"
    people.write_text("filename,decision,label\n01/a b.png,drop,\n01/ünï.png,keep,\n", encoding="utf-8")
    tool.write_text(
        "filename,is_label_issue,predicted_label\n01/a b.png,True,NA\n01/ünï.png,True,NA\n01/noise.png,True,NA\n",
        encoding="utf-8",
    )
    by_people = {0: ("drop", ""), 1: ("keep", "")}
    assert run("import", people, "--run", own_run.folder, "--who", "ada") == 0
    capsys.readouterr()
    assert run("import", tool, "--run", own_run.folder, "--who", "cleanlab", "--json") == 0
    told = capsys.readouterr()
    assert told.err == "1 decision from cleanlab, 2 left as people decided (add --replace to replace them)\n"
    assert json.loads(told.out)["left"] == 2
    assert decided(own_run) == {**by_people, 9: ("relabel", "NA")}
    assert run("import", tool, "--run", own_run.folder, "--replace") == 0
    assert capsys.readouterr().err == "2 decisions from cleanlab, 1 stood already\n"
    assert decided(own_run) == dict.fromkeys([0, 1, 9], ("relabel", "NA"))
    assert run("import", people, "--run", own_run.folder, "--who", "bob") == 0
    assert decided(own_run) == {**by_people, 9: ("relabel", "NA")}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.csv", "row,filename,decision,label\n²,nowhere.png,keep,\n"),
        ("issues.csv", "filename,is_label_issue,predicted_label\nnowhere.png,True,NA\n"),
        ("min.json", '[{"image": "nowhere.png", "label": "NA"}]'),
    ],
)
def test_a_table_of_another_run_is_refused(
    own_run: HandoffRun, tmp_path: Path, name: str, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert run("import", tmp_path / name, "--run", own_run.folder) == 2
    assert capsys.readouterr().err == (
        f"scanmix: {tmp_path / name} names no image of this run (1 name looked for): name the run that it is about "
        "with --run\n"
    )
    assert not (own_run.folder / "decisions.sqlite").exists()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", "{", "is no Label Studio result"),
        ("a.json", '{"a": 1}', "is no Label Studio result, which is a list of tasks"),
        ("a.xml", "<nothing", "is no CVAT result"),
        ("a.xml", "<other/>", "is no CVAT result, since it begins with <other>"),
        ("a.xml", '<?xml version="1.0" encoding="klingon"?><annotations/>', "is no CVAT result (unknown encoding"),
        ("a.json", "[" * 100_000, "is no Label Studio result (maximum recursion"),
        ("a.json", '[{"annotations": []}, {"annotations": [7]}]', "holds a task that is not laid out as"),
        ("a.csv", "x,y\n1,2\n", "is no result that can be read"),
        ("a.csv", "is_label_issue,x\nTrue,2\n", "has no column 'predicted_label'"),
    ],
)
def test_other_files_are_refused(
    own_run: HandoffRun, tmp_path: Path, name: str, content: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    assert run("import", tmp_path / name, "--run", own_run.folder) == 2
    assert sentence in capsys.readouterr().err
    assert not (own_run.folder / "decisions.sqlite").exists()


def test_a_locked_archive_is_refused(own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("annotations.xml", "<annotations/>")
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the local header says that the file is encrypted
    content[content.find(b"PK\x01\x02") + 8] |= 1  # and so does the directory
    path.write_bytes(content)
    assert run("import", path, "--run", own_run.folder) == 2
    assert "is no CVAT result (File 'annotations.xml' is encrypted" in capsys.readouterr().err


def test_decisions_change_the_report_as_they_say(own_run: HandoffRun, tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(
        "filename,decision,label\n01/ünï.png,keep,\n=cat/a b.png,relabel,NA\n01/noise.png,unsure,\n01/a b.png,drop,\n"
        "loose/u2.png,relabel,01\n",
        encoding="utf-8",
    )
    assert run("import", table, "--run", own_run.folder) == 0
    report, standing = read_decided_report(own_run.folder)
    assert sorted(standing) == [0, 1, 2, 7, 9]
    columns = ["suggested_action", "suggested_label", "is_label_issue", "p_mislabeled"]
    rows = report.loc[[1, 2, 9, 0], columns].values.tolist()
    assert rows[:2] == [["keep", "01", False, 0.0], ["relabel", "NA", True, 1.0]]
    assert rows[2] == ["review", "NA", True, 0.9]
    assert rows[3] == ["drop", "01", True, 1.0]
    assert report.loc[7, ["suggested_action", "suggested_label"]].tolist() == ["relabel", "01"]
    assert pd.isna(report.loc[7, "is_label_issue"])
    ranks = report["rank"].dropna()
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    assert ranks.idxmax() == 1  # confirmed labels last
    assert set(ranks.nsmallest(2).index) == {0, 2}  # confirmed errors first
    assert list(report.dtypes) == list(report_table().dtypes)


def test_the_report_command_follows_decisions(
    own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def suspects() -> list[str]:
        assert run("report", "--run", own_run.folder, "--json") == 0
        return [row["filename"] for row in json.loads(capsys.readouterr().out)["rows"]]

    assert suspects() == ["01/ünï.png", "01/noise.png", "dogs/空 #1&2.png"]
    table = tmp_path / "mine.csv"
    table.write_text("filename,decision,label\n01/noise.png,keep,\n01/bare,relabel,NA\n", encoding="utf-8")
    assert run("import", table, "--run", own_run.folder) == 0
    capsys.readouterr()
    assert suspects() == ["01/bare", "01/ünï.png", "dogs/空 #1&2.png"]
