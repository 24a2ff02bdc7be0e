"""The newest run."""

from pathlib import Path

import pytest

from scanmix_cli.engine.run_folder import point_latest
from scanmix_cli.errors import DataError
from scanmix_cli.report.runs import latest_run, resolve_run


def test_latest_is_a_text_file_with_the_folder_name(tmp_path: Path) -> None:
    (tmp_path / "demo-2").mkdir()
    (tmp_path / "latest").write_text("demo-2\n")
    assert latest_run(tmp_path) == tmp_path / "demo-2"


@pytest.mark.parametrize("name", ["two\nlines", "ends\n", " between ", "line\u2028\r"])
def test_every_name_of_a_folder_is_read_as_it_was_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (Path("scanmix-runs") / name, tmp_path / name):
        folder.mkdir(parents=True)
        point_latest(folder)
        assert latest_run() == folder == resolve_run(Path("scanmix-runs/latest"))


def test_blanks_around_a_name_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "demo-2").mkdir()
    (tmp_path / "latest").write_bytes(b" demo-2\r\n")
    assert latest_run(tmp_path) == tmp_path / "demo-2"


def test_latest_may_name_a_folder_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "latest").write_text(str(tmp_path / "elsewhere"))
    assert latest_run(tmp_path) == tmp_path / "elsewhere"


def test_latest_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "demo-2").mkdir()
    (tmp_path / "latest").symlink_to("demo-2")
    assert latest_run(tmp_path) == tmp_path / "demo-2"


@pytest.mark.parametrize("content", [None, "", "\n", "demo\ndemo\n", "x" * 5000])
def test_no_run_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "latest").write_text(content)
    with pytest.raises(DataError) as error:
        latest_run(tmp_path)
    assert str(error.value) == (
        f"no run found in {tmp_path}: run `scanmix train DATA` first or name a run folder with `--run`"
    )


def test_a_run_that_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("demo-2")
    with pytest.raises(DataError) as error:
        latest_run(tmp_path)
    assert str(error.value) == (
        f"{tmp_path / 'latest'} names {tmp_path / 'demo-2'}, which is gone: name a run folder with `--run`"
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("report.csv", "filename,split\n" * 500),
        ("report.csv", "demo-2\n"),
        ("latest", "demo-2\ndemo-3\n"),
        ("latest", ""),
    ],
)
def test_a_file_that_names_no_run_is_no_run_folder(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "demo-2").mkdir()
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as error:
        resolve_run(tmp_path / name)
    assert str(error.value) == (
        f"{tmp_path / name} is no run folder: name the folder of a finished run, or train first"
    )


def test_a_name_too_long_for_any_folder_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x is no run folder: name the folder of a finished run, or train first$"):
        resolve_run(tmp_path / ("x" * 300))
    (tmp_path / "latest").write_text("y" * 300)
    with pytest.raises(DataError, match=r"y, which is gone: name a run folder with `--run`$"):
        latest_run(tmp_path)
