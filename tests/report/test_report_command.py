"""`scanmix report` from the options to the streams."""

import json
from pathlib import Path

import pandas as pd
import pytest
import typer
from report_run import CLASSES, Run, write_run
from typer.testing import CliRunner, Result

from scanmix_cli.cli.app import main
from scanmix_cli.cli.report import report
from scanmix_cli.engine.run_folder import point_latest
from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions
from scanmix_cli.report.files import read_report
from scanmix_cli.report.spreadsheet import restored
from scanmix_cli.report.table import REPORT_COLUMNS

app = typer.Typer()
app.command()(report)


def invoke(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_table_goes_to_stdout(run_dir: Path) -> None:
    result = invoke("--run", run_dir)
    assert result.exit_code == 0
    assert [line.split()[1] for line in result.stdout.splitlines()[3:5]] == ["a/1.png", "b/3,\\n.png"]
    assert result.stderr == ""


def test_long_tables_say_how_to_get_the_rest(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanmix_cli.cli.report.SCREEN", 1)
    result = invoke("--run", run_dir)
    assert "b/3" not in result.stdout
    assert result.stderr == "1 of 2 rows shown: add `--out noisy.csv` to write all of them.\n"
    assert "b/3" in invoke("--run", run_dir, "--top", 2).stdout, "a number that the user asked for is kept"


@pytest.mark.parametrize("choice", [("--review-budget", "2"), ("--min-precision", "0.8")])
def test_a_choice_by_expectation_says_what_to_expect(run_dir: Path, choice: tuple[str, str]) -> None:
    rows = json.loads(invoke("--run", run_dir, *choice, "--json").stdout)["rows"]
    assert len(rows) == 2
    wrong = sum(row["p_mislabeled"] for row in rows)
    result = invoke("--run", run_dir, *choice)
    assert result.stderr == f"2 rows: {wrong:.1f} labels are expected to be wrong.\n"


def test_no_suspects_are_said_on_stderr(run_dir: Path) -> None:
    result = invoke("--run", run_dir, "--threshold", "1")
    assert (result.exit_code, result.stdout) == (0, "")
    again = f"scanmix report --run {run_dir} --top 20"
    assert result.stderr == f"No row fits the choice; `{again}` shows the 20 most suspect rows.\n"


def test_a_run_without_suspects_says_so(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run_dir / "report.csv"
    report.write_bytes(report.read_bytes().replace(b",True,", b",False,"))
    assert not read_report(run_dir)["is_label_issue"].any()
    result = invoke("--run", run_dir)
    assert (result.exit_code, result.stdout) == (0, "")
    again = f"scanmix report --run {run_dir} --top 20"
    assert result.stderr == f"No label is called an issue; `{again}` shows the 20 most suspect rows.\n"
    monkeypatch.chdir(run_dir.parent)
    point_latest(run_dir)
    newest = "No label is called an issue; `scanmix report --top 20` shows the 20 most suspect rows.\n"
    assert invoke().stderr == newest


def test_a_report_that_may_not_be_read_is_a_sentence(
    run_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pandas.read_csv", refuse)
    with pytest.raises(SystemExit) as stopped:
        main(["report", "--run", str(run_dir)])
    assert stopped.value.code == 2
    sentence = f"{run_dir}/report.csv cannot be read or written (Permission denied); check the path and its permissions"
    assert capsys.readouterr() == ("", f"scanmix: {sentence}\n")


def test_json_is_one_object_and_nothing_else(run_dir: Path) -> None:
    result = invoke("--run", run_dir, "--json")
    answer = json.loads(result.stdout)
    assert answer["selected"] == 2
    assert answer["expected_wrong"] == pytest.approx(sum(row["p_mislabeled"] for row in answer["rows"]), abs=1e-5)
    assert answer["run"] == str(run_dir)
    assert set(answer["noise_rate"]) == {"estimate", "low", "high", "level"}
    assert [row["filename"] for row in answer["rows"]] == ["a/1.png", "b/3,\n.png"]
    assert answer["rows"][0]["rank"] == 1
    assert answer["rows"][0]["is_label_issue"] is True
    assert answer["rows"][0]["neighbor_agreement"] is None
    assert result.stderr == ""


def test_the_newest_run_is_the_default(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "scanmix-runs" / "demo-1"
    folder.mkdir(parents=True)
    write_run(folder, run)
    (tmp_path / "scanmix-runs" / "latest").write_text("demo-1")
    monkeypatch.chdir(tmp_path)
    assert "a/1.png" in invoke().stdout


def test_out_writes_ranked_issues_with_all_columns(run_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "noisy.csv"
    result = invoke("--run", run_dir, "--out", out)
    assert (result.stdout, result.stderr) == ("", f"2 rows written to {out}\n")
    frame = pd.read_csv(out, dtype=str, na_filter=False)
    assert list(frame.columns) == [*REPORT_COLUMNS, "input_rank"]
    assert frame["rank"].tolist() == ["1", "2"]
    assert frame["given_label"].map(restored).tolist() == ["01", "=cat"]


def test_all_rows_as_csv_are_the_report_itself(run_dir: Path, tmp_path: Path) -> None:
    invoke("--run", run_dir, "--all", "--out", tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_bytes() == (run_dir / "report.csv").read_bytes()


def test_json_lines_and_json_hold_the_same_rows(run_dir: Path, tmp_path: Path) -> None:
    invoke("--run", run_dir, "--all", "--out", tmp_path / "all.jsonl")
    invoke("--run", run_dir, "--all", "--out", tmp_path / "all.json")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert lines == json.loads((tmp_path / "all.json").read_text())
    assert [line["filename"] for line in lines] == read_report(run_dir)["filename"].tolist()
    assert lines[5]["given_label"] == "NA"
    assert lines[4]["p_mislabeled"] is None


def test_parquet_keeps_types(run_dir: Path, tmp_path: Path) -> None:
    invoke("--run", run_dir, "--all", "--out", tmp_path / "all.PARQUET")
    frame = pd.read_parquet(tmp_path / "all.PARQUET")
    expected = read_report(run_dir)
    assert frame["rank"].tolist() == expected["rank"].tolist()
    assert frame["is_label_issue"].dtype == "boolean"
    assert frame["p_mislabeled"].equals(expected["p_mislabeled"])
    assert frame["given_label"].tolist() == expected["given_label"].tolist()
    assert frame["filename"].tolist()[9] == "c/9\\udcff.png"


def test_markdown_is_a_table_of_the_main_columns(run_dir: Path, tmp_path: Path) -> None:
    invoke("--run", run_dir, "--out", tmp_path / "noisy.md")
    assert (tmp_path / "noisy.md").read_text() == (
        "| rank | filename | given_label | suggested_label | p_mislabeled | suggested_action |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| 1 | a/1.png | 01 | =cat | 0.990 | relabel |\n"
        "| 2 | b/3, .png | =cat | NA | 0.640 | review |\n"
    )


def test_html_is_the_page_of_the_choice(run_dir: Path, tmp_path: Path) -> None:
    def page(*options: str | int) -> tuple[str, list[int]]:
        invoke("--run", run_dir, *options, "--out", tmp_path / "noisy.html")
        text = (tmp_path / "noisy.html").read_text(encoding="utf-8")
        return text, json.loads(text.split('id="data">')[1].split("</script>")[0])["suspects"]["rank"]

    assert page("--top", 1)[1] == [1]
    text, ranks = page("--all")
    assert ranks == [1, 2, 3, 4, 5, 6]
    assert "schedule.epochs" not in text
    (run_dir / "config.toml").write_text("seed = 7\n[schedule]\nepochs = 60\n")
    assert '<code>schedule.epochs</code></th><td><bdi class="break">60</bdi>' in page("--all")[0]


def test_a_page_honours_what_people_decided(run_dir: Path, tmp_path: Path) -> None:
    with open_decisions(run_dir) as log:
        log.record(Choice(1, "a/1.png", "keep"), who="ann", source="test")
        log.record(Choice(5, "c/5.png", "relabel", "dog"), who="ann", source="test")
    invoke("--run", run_dir, "--out", tmp_path / "noisy.html")
    text = (tmp_path / "noisy.html").read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["suspects"]["file"] == ["c/5.png", "b/3,\\n.png"]
    assert data["classes"][data["suspects"]["suggested"][0]] == "dog"


def test_top_says_how_many_suspects_a_page_shows(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scanmix_cli.report.html.SHOWN", 1)
    invoke("--run", run_dir, "--out", tmp_path / "noisy.html")
    assert "the first 1 of 2 are on this page" in (tmp_path / "noisy.html").read_text(encoding="utf-8")
    invoke("--run", run_dir, "--top", 2, "--out", tmp_path / "noisy.html")
    assert "all 2 are on this page" in (tmp_path / "noisy.html").read_text(encoding="utf-8")


def test_json_with_out_names_the_file(run_dir: Path, tmp_path: Path) -> None:
    result = invoke("--run", run_dir, "--json", "--out", tmp_path / "noisy.csv")
    assert json.loads(result.stdout)["out"] == str(tmp_path / "noisy.csv")
    assert (tmp_path / "noisy.csv").is_file()


def test_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as error:
        invoke()
    assert str(error.value) == (
        "no run found in scanmix-runs: run `scanmix train DATA` first or name a run folder with `--run`"
    )


def test_a_run_folder_without_report(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        invoke("--run", tmp_path)
    assert str(error.value) == (
        f"{tmp_path} holds no report.csv: name the folder of a finished run with `--run`, or run `scanmix train DATA`"
    )


def test_an_unknown_extension_names_the_known_ones(run_dir: Path) -> None:
    with pytest.raises(SettingsError) as error:
        invoke("--run", run_dir, "--out", "noisy.xlsx")
    assert str(error.value) == (
        "--out noisy.xlsx has no known extension: use one of .csv, .jsonl, .json, .parquet, .html, .md"
    )


def test_folders_above_the_file_are_made(run_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder" / "noisy.csv"
    assert invoke("--run", run_dir, "--out", out).stderr == f"2 rows written to {out}\n"
    assert out.is_file()


@pytest.mark.parametrize("name", ["report.csv", "cleaned.csv", "summary.json", "report.html", "bad_files.csv"])
def test_files_of_the_run_are_not_replaced(run_dir: Path, name: str) -> None:
    before = {file: file.read_bytes() for file in run_dir.iterdir()}
    with pytest.raises(SettingsError) as error:
        invoke("--run", run_dir, "--out", run_dir / name)
    assert str(error.value) == (
        f"--out {run_dir / name} belongs to the run in {run_dir}, which it would break; name another file"
    )
    assert {file: file.read_bytes() for file in run_dir.iterdir()} == before


def test_the_table_that_the_run_was_trained_on_is_not_replaced(run_dir: Path, tmp_path: Path) -> None:
    table, summary = tmp_path / "labels.csv", json.loads((run_dir / "summary.json").read_text())
    table.write_text("file_name,label\n")
    summary["data"]["tables"] = [str(tmp_path / "gone.csv"), str(table)]
    (run_dir / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(SettingsError) as error:
        invoke("--run", run_dir, "--out", table)
    assert str(error.value) == f"--out {table} is one of the files to read; name another file"
    assert table.read_text() == "file_name,label\n"
    assert invoke("--run", run_dir, "--out", tmp_path / "gone.csv").exit_code == 0, "it was not there any more"


def test_a_table_beside_them_may_be_written_again(run_dir: Path) -> None:
    for _ in range(2):
        assert invoke("--run", run_dir, "--out", run_dir / "noisy.csv").exit_code == 0


def test_an_unknown_class_names_the_known_ones(run_dir: Path) -> None:
    with pytest.raises(SettingsError) as error:
        invoke("--run", run_dir, "--class", "1")
    assert str(error.value) == f"no class is named '1': the classes are {', '.join(CLASSES)}"


def test_help_begins_with_a_sentence_and_an_example() -> None:
    lines = [line.strip() for line in invoke("--help").stdout.splitlines()]
    assert "Show or write the suspect labels of a run." in lines
    assert "Example: scanmix report --out noisy.csv" in lines
