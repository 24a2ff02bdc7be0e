"""`scanmix train` from the outside: files, bytes, exit codes, what it says."""

import csv
import json
from pathlib import Path

import pytest
from command_run import SHORT, WITH_PAGE, rows, run

from scanmix_cli.evidence.store import load_evidence
from scanmix_cli.files import read_toml
from scanmix_cli.report.table import REPORT_COLUMNS
from scanmix_cli.report.terminal import closing_panel
from scanmix_cli.workflow.train import Run


def test_a_folder_becomes_a_complete_run_folder(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", squares, "--out", "run", *WITH_PAGE) == 0
    names = {path.name for path in Path("run").iterdir()}
    assert names == {
        "report.csv", "cleaned.csv", "summary.json", "noise_matrix.csv", "noise_intervals.csv", "bad_files.csv",
        "metrics.csv", "config.toml", "evidence.npz", "log.txt", "report.html", "plots", "model", "checkpoints",
    }  # fmt: skip
    assert {path.name for path in Path("run/model").iterdir()} == {"model.safetensors", "model.json", "model.onnx"}
    report = rows(Path("run/report.csv"))
    assert tuple(report[0]) == REPORT_COLUMNS
    expected = sorted(path.relative_to(squares).as_posix() for path in squares.rglob("*.png"))
    assert [row["filename"] for row in report] == expected
    train = [row for row in report if row["split"] == "train"]
    assert sorted(int(row["rank"]) for row in train) == list(range(1, 31))
    held_out = [row for row in report if row["split"] == "test"]
    assert all(row["predicted_label"] and not row["rank"] and not row["label_score"] for row in held_out)
    summary = json.loads(Path("run/summary.json").read_text())
    hits = sum(row["predicted_label"] == row["given_label"] for row in held_out)
    assert summary["accuracy"]["test_accuracy"] == pytest.approx(hits / 12, abs=1e-6)
    pairs = load_evidence(Path("run/evidence.npz"))["two_classes"]
    assert pairs.shape == (30, 2)
    assert (pairs[:, 0] >= 0).sum() == summary["counts"]["ambiguous"]
    assert "<h3>Between two classes</h3>" in Path("run/report.html").read_text(encoding="utf-8")
    said = [line[20:] for line in Path("run/log.txt").read_text(encoding="utf-8").splitlines()]
    panel = closing_panel(summary).splitlines()
    assert said[-len(panel) :] == panel
    assert any(line.startswith("estimated noise rate") for line in panel)
    stages = [row["stage"] for row in rows(Path("run/metrics.csv"))]
    assert list(dict.fromkeys(stages)) == ["simclr", "scanmix"]
    assert capsys.readouterr().out == ""


def test_the_table_twin_and_a_second_run_give_the_same_bytes(squares: Path) -> None:
    files = sorted(path.relative_to(squares).as_posix() for path in squares.rglob("*.png"))
    lines = ["file_name,label,split", *(f"{name},{name.split('/')[1]},{name.split('/')[0]}" for name in files)]
    (squares / "labels.csv").write_text("\n".join(lines) + "\n")
    assert run("train", squares, "--out", "a", *SHORT) == 0
    assert run("train", squares, "--out", "b", *SHORT) == 0
    assert run("train", squares / "labels.csv", "--out", "c", *SHORT) == 0
    assert run("train", squares, "--out", "d", *SHORT, "--seed", "1") == 0
    report = Path("a/report.csv").read_bytes()
    assert Path("b/report.csv").read_bytes() == report
    assert Path("c/report.csv").read_bytes() == report
    assert Path("c/cleaned.csv").read_bytes() == Path("a/cleaned.csv").read_bytes()
    assert Path("d/report.csv").read_bytes() != report
    assert run("report", "--run", "c", "--out", squares / "labels.csv") == 2, "trained on it"
    assert (squares / "labels.csv").read_text().splitlines() == lines


def test_report_straight_after_training_needs_no_argument(squares: Path) -> None:
    assert run("train", squares, *SHORT) == 0
    assert Path("scanmix-runs/latest").read_text().strip() == "data-1"
    assert run("report", "--all", "--out", "noisy.csv") == 0
    assert len(rows(Path("noisy.csv"))) == 42
    assert run("train", squares, "--out", "elsewhere", *SHORT) == 0
    assert run("report", "--out", "again.csv") == 0
    issues = [row for row in rows(Path("elsewhere/report.csv")) if row["is_label_issue"] == "True"]
    assert len(rows(Path("again.csv"))) == len(issues)


def test_the_written_configuration_repeats_the_run(squares: Path) -> None:
    assert run("train", squares, "--out", "a", *SHORT) == 0
    assert run("train", squares, "--out", "b", "--config", "a/config.toml", "--no-html", "-q") == 0
    assert Path("b/report.csv").read_bytes() == Path("a/report.csv").read_bytes()


def test_some_settings_of_a_configuration_are_laid_over_the_chosen_profile(squares: Path) -> None:
    Path("mine.toml").write_text("[profile.mixmatch]\nalpha = 2.0\n[run]\nepochs = 1\npretrain_epochs = 1\n")
    assert run("train", squares, "--out", "run", "--config", "mine.toml", "--device", "cpu", "--no-html", "-q") == 0
    written = read_toml(Path("run/config.toml"))["profile"]
    assert written["mixmatch"]["alpha"] == 2.0
    assert (written["mixmatch"]["epochs"], written["backbone"]) == (1, "small")


def test_a_precision_that_is_slow_on_a_cpu_is_said_before_anything(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scanmix_cli.workflow.train.load_pixels", stop)
    for precision, warning in (
        ("fp16", "warning: a CPU is many times slower in fp16 than in fp32; use --precision fp32\n"),
        ("bf16", ""),
    ):
        assert run("train", squares, "--device", "cpu", "--precision", precision) == 130
        said = f"{warning}scanmix: interrupted before training began; nothing was written\n"
        assert capsys.readouterr().err == said


def test_verbose_shows_every_epoch(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--epochs", "1", "--pretrain-epochs", "3", "--device", "cpu", "--no-html", "-v"]
    assert run("train", squares, "--out", "run", *arguments) == 0
    shown = capsys.readouterr().err
    assert [f"simclr {k}/3" in shown for k in (1, 2, 3)] == [True] * 3


def test_json_is_the_only_thing_on_standard_output(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", squares, "--out", "run", "--json", *SHORT) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(Path("run/summary.json").read_text())


def test_plain_progress_and_panel_go_to_standard_error(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", squares, "--out", "run", *SHORT[:-1]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    first = next(line for line in shown.err.splitlines() if line.startswith("profile"))
    assert first.startswith("profile auto: small at 32 pixels, epochs simclr 1, ")
    assert "(30 images of 3 classes, short side about 16 pixels, on a CPU); about " in first
    assert "suspect label" in shown.err
    assert "next     scanmix report --out noisy.csv" in shown.err


@pytest.mark.parametrize(("limit", "code"), [("0%", 1), ("9.9%", 1), ("10%", 0), ("2", 1), ("3", 0)])
def test_fail_on_turns_too_many_suspects_into_exit_one(
    squares: Path, limit: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Run(Path("run"), {"counts": {"label_issues": 3, "labelled": 30}})
    monkeypatch.setattr("scanmix_cli.workflow.train.train", lambda *_: found)
    assert run("train", squares, "--out", "run", "--fail-on", limit, *SHORT) == code


def test_a_time_budget_ends_with_a_report_and_a_warning_that_the_set_is_tiny(
    squares: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", squares, "--out", "run", "--time-budget", "8s", "--device", "cpu", "--no-html") == 0
    assert "warning: " in capsys.readouterr().err
    assert len(rows(Path("run/report.csv"))) == 42


def test_no_keep_checkpoints_removes_them(squares: Path) -> None:
    assert run("train", squares, "--out", "run", "--no-keep-checkpoints", "--no-html", *WITH_PAGE) == 0
    assert not Path("run/checkpoints").exists()
    assert not Path("run/report.html").exists()


def test_predict_classifies_files_and_folders(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", squares, "--out", "run", *SHORT) == 0
    capsys.readouterr()
    broken = squares / "test" / "broken.png"
    broken.write_bytes(b"")
    assert run("predict", "run", squares / "test", "--top-k", "2", "--device", "cpu") == 0
    shown = capsys.readouterr()
    table = list(csv.DictReader(shown.out.splitlines()))
    assert list(table[0]) == ["filename", "predicted_label", "probability", "label_2", "probability_2", "error_code"]
    assert [row["error_code"] for row in table].count("VALID") == 12
    assert [row["predicted_label"] for row in table if row["error_code"] == "ERROR_ZERO_SIZE_FILE"] == [""]
    assert shown.err == "1 file could not be read: see error_code\n"
    by_name = {row["filename"]: row["predicted_label"] for row in table}
    for row in rows(Path("run/report.csv")):
        if row["split"] == "test":
            assert by_name[str(squares / row["filename"])] == row["predicted_label"]


def test_an_unexpected_error_is_one_sentence_unless_asked_for_more(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("scanmix_cli.data.sources.read_samples", broken)
    assert run("train", squares) == 3
    expected = (
        "scanmix: unexpected ZeroDivisionError (by zero); run `scanmix -v -v ...` for the details and report it\n"
    )
    assert capsys.readouterr().err == expected
    assert run("train", squares, "-v", "-v") == 3
    assert "Traceback" in capsys.readouterr().err
