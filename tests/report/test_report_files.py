"""What stands in a run folder, byte for byte."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_run import CLASSES, Run, write_run

from scanmix_cli.errors import DataError, RunError, SettingsError
from scanmix_cli.evidence.noise_rate import NoiseRate
from scanmix_cli.files import write_text
from scanmix_cli.report.files import cleaned_labels, read_report, read_settings, read_summary
from scanmix_cli.report.matrix_file import read_noise_matrix


def test_report_is_read_back_as_it_was(run: Run, run_dir: Path) -> None:
    pd.testing.assert_frame_equal(read_report(run_dir), run.report.round(6))


def test_report_is_safe_to_open_in_a_spreadsheet(run_dir: Path) -> None:
    with (run_dir / "report.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and cell]
    assert "'=2.png" in cells


def test_floats_have_six_decimals(run_dir: Path) -> None:
    with (run_dir / "report.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        row = list(csv.DictReader(file))[1]
    assert row["p_suggested"] == "0.950000"
    assert row["mean_loss"] == "3.688879"
    assert row["is_label_issue"] == "True"


def test_the_same_run_writes_the_same_bytes(run: Run, run_dir: Path) -> None:
    before = {file.name: file.read_bytes() for file in run_dir.iterdir()}
    write_run(run_dir, run, seed=0)
    assert {file.name: file.read_bytes() for file in run_dir.iterdir()} == before
    assert sorted(before) == [
        "bad_files.csv",
        "cleaned.csv",
        "noise_intervals.csv",
        "noise_matrix.csv",
        "places.csv",
        "report.csv",
        "summary.json",
    ]


def test_cleaned_labels(run_dir: Path) -> None:
    content = (run_dir / "cleaned.csv").read_bytes()
    assert content == (
        b"file_name,label\n"
        b"a/0.png,01\n"
        b"a/1.png,=cat\n"  # relabelled
        b"./=2.png,=cat\n"  # the same file, and no formula
        b'"b/3,\n.png",NA\n'  # to review: the likelier of the two labels
        b"c/5.png,NA\n"
        b"c/6.png,NA\n"  # unlabelled, surely NA
        b"c/9\xff.png,NA\n"
    )


def test_dropped_rows_are_not_among_the_cleaned(run: Run) -> None:
    report = run.report.assign(suggested_action=run.report["suggested_action"].replace("relabel", "drop"))
    assert "a/1.png" not in set(cleaned_labels(report)["file_name"])


def test_bad_files(run_dir: Path) -> None:
    assert (run_dir / "bad_files.csv").read_text() == (
        "filename,error_code,message\nbroken.png,ERROR_CORRUPT_IMAGE,no image\n"
    )


def test_noise_matrix_names_true_and_given_classes(run: Run, run_dir: Path) -> None:
    lines = (run_dir / "noise_matrix.csv").read_text().splitlines()
    assert lines[0] == "true_label,01,'=cat,NA"
    assert [line.split(",")[0] for line in lines[1:]] == ["01", "'=cat", "NA"]
    assert read_noise_matrix(run_dir) == pytest.approx(run.verdicts.noise_matrix, abs=1e-6)


NAMES = ["01", "'=cat", "NA"]


def test_every_pair_of_the_noise_matrix_has_its_interval(run_dir: Path) -> None:
    lines = (run_dir / "noise_intervals.csv").read_text().splitlines()
    assert lines[0] == "true_label,given_label,probability,low,high"
    assert [line.split(",")[:2] for line in lines[1:]] == [[t, g] for t in NAMES for g in NAMES]
    found = [[float(cell) for cell in line.split(",")[2:]] for line in lines[1:]]
    # 4 of 4 images, 2 and 4 of 6 by Wilson; of the third class nobody knows an image
    assert found[0] == pytest.approx([1, 4 / (4 + 1.6449**2), 1], abs=1e-5)
    assert found[3] == pytest.approx([1 / 3, 0.117272, 0.652991], abs=1e-5)
    assert found[4] == pytest.approx([2 / 3, 1 - 0.652991, 1 - 0.117272], abs=1e-5)
    assert [ends for _, *ends in found[6:]] == [[0, 1]] * 3


def test_summary_counts_every_kind_of_row(run_dir: Path) -> None:
    summary = read_summary(run_dir)
    assert summary["counts"] == {
        "rows": 10,
        "train": 8,
        "held_out": 1,
        "unreadable": 1,
        "labelled": 6,
        "unlabelled": 2,
        "label_issues": 2,
        "outlier_issues": 0,
        "duplicates": 0,
        "duplicate_sets": 0,
        "duplicate_conflicts": 0,
        "duplicate_leaks": 0,
        "keep": 4,
        "relabel": 1,
        "review": 1,
        "drop": 0,
        "ambiguous": 1,
        "cleaned": 7,
    }
    assert summary["classes"] == list(CLASSES)
    assert summary["seed"] == 0
    assert summary["data"]["name"] == "demo"
    assert Path(summary["data"]["root"]).is_absolute()
    assert len(summary["data"]["fingerprint"]) == 64
    rate = summary["noise_rate"]
    assert 0 <= rate["low"] <= rate["estimate"] <= rate["high"] <= 1
    assert rate["level"] == 0.9


def test_a_summary_that_is_not_finite_is_not_written(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_run(tmp_path, run, accuracy=float("nan"))
    assert not (tmp_path / "summary.json").exists()


def test_a_class_may_be_named_like_the_first_column_of_the_matrix(run: Run, tmp_path: Path) -> None:
    samples = replace(run.samples, classes=("b", "true_label", "z"))
    write_run(tmp_path, replace(run, samples=samples))
    assert (tmp_path / "noise_matrix.csv").read_text().startswith("true_label,b,true_label,z\nb,1.000000,0.000000,")
    assert read_noise_matrix(tmp_path) == pytest.approx(run.verdicts.noise_matrix, abs=1e-6)


def test_a_folder_without_report_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read_report(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} holds no report.csv: name the folder of a finished run with `--run`, or run `scanmix train DATA`"
    )


def test_a_foreign_report_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "report.csv").write_text("filename,label\na,b\n")
    with pytest.raises(DataError) as error:
        read_report(tmp_path)
    assert str(error.value) == (
        f"{tmp_path / 'report.csv'} has no column `split`: it is no report of this version, so train again"
    )


@pytest.mark.parametrize("content", ["", '"a\nb', "a,b\n1,2,3,4\n1,2,3,4,5\n", "rank\nfirst\n"])
def test_a_broken_report_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "report.csv").write_text(content)
    with pytest.raises(DataError, match=r"report\.csv"):
        read_report(tmp_path)


def test_a_broken_summary_or_matrix_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(DataError, match=r"summary\.json cannot be read: name the folder of a finished run"):
        read_summary(tmp_path)
    with pytest.raises(DataError, match=r"noise_matrix\.csv cannot be read: name the folder of a finished run"):
        read_noise_matrix(tmp_path)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"classes": None}, "classes"),
        ({"counts": None}, "counts"),
        ({"counts": {"rows": 10, "labelled": 7}}, "counts.label_issues"),
        ({"data": {"name": "demo"}}, "data.root"),
        ({"noise_rate": 0.1}, "noise_rate"),
    ],
)
def test_a_summary_without_what_is_read_of_it_is_an_error(run_dir: Path, change: dict[str, Any], place: str) -> None:
    summary = read_summary(run_dir) | change
    (run_dir / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(DataError) as error:
        read_summary(run_dir)
    assert str(error.value) == (
        f"{run_dir / 'summary.json'} is no summary of a run, without `{place}`: put the file back, or train again"
    )


def test_a_summary_that_is_a_list_is_an_error(run_dir: Path) -> None:
    (run_dir / "summary.json").write_text("[1]")
    with pytest.raises(DataError, match=r"summary\.json is no summary of a run, without `classes`: put the file back"):
        read_summary(run_dir)


def test_a_report_of_which_rows_are_gone_is_an_error(run_dir: Path) -> None:
    path = run_dir / "report.csv"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    with pytest.raises(DataError) as error:
        read_report(run_dir)
    assert str(error.value) == (
        f"{path} has 2 rows, but summary.json counts 10: put the whole file back, or run `scanmix train DATA` again"
    )


def test_settings_of_a_run(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == {}
    (tmp_path / "config.toml").write_text("seed = 1\n[scan]\nepochs = 2\n")
    assert read_settings(tmp_path) == {"seed": 1, "scan": {"epochs": 2}}
    (tmp_path / "config.toml").write_text("seed = ")
    with pytest.raises(SettingsError, match=r"config\.toml is not valid TOML \(.*\); mend that line$"):
        read_settings(tmp_path)


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(RunError) as error:
        write_text(tmp_path / "x.csv", "a")
    assert str(error.value).startswith(f"{tmp_path / 'x.csv'} could not be written (Is a directory): ")
    assert [file.name for file in tmp_path.iterdir()] == ["x.csv"]


def test_summary_tells_of_every_class(run: Run, tmp_path: Path) -> None:
    write_run(tmp_path, run)
    summary = read_summary(tmp_path)
    assert summary["class_quality"][1] == {
        "class": "=cat",
        "images": 2,
        "label_issues": 1,
        "quality": 0.6,
        "missing": pytest.approx(1 / 3, abs=1e-6),
        "sureness": 0.95,
    }
    assert summary["hardest_classes"] == ["NA", "01", "=cat"]
    assert summary["classes_perhaps_one"] == [{"classes": ["=cat", "NA"], "overlap": 0.75}]
    assert summary["counts"]["ambiguous"] == 1


def test_of_a_class_that_no_label_names_nothing_is_said(run: Run, tmp_path: Path) -> None:
    matrix = np.eye(4)
    matrix[:3, :3] = run.verdicts.noise_matrix
    verdicts = replace(
        run.verdicts,
        class_noise_rates=[*run.verdicts.class_noise_rates, NoiseRate(0.0, 0.0, 1.0)],
        class_sureness=np.append(run.verdicts.class_sureness, 0.0),
        true_images=np.append(run.verdicts.true_images, 0.0),
        noise_matrix=matrix,
    )
    samples = replace(run.samples, classes=(*CLASSES, "unicorn"))
    write_run(tmp_path, replace(run, samples=samples, verdicts=verdicts))
    summary = read_summary(tmp_path)
    unknown = {"quality": None, "missing": None, "sureness": None}
    assert summary["class_quality"][3] == {"class": "unicorn", "images": 0, "label_issues": 0} | unknown
    assert summary["hardest_classes"] == ["NA", "01", "=cat"]
