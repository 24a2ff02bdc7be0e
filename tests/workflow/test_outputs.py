"""Where results must not go."""

from pathlib import Path

import pytest

from scanmix_cli.errors import RunError, SettingsError
from scanmix_cli.workflow.outputs import check_file, check_folder, make_room

IN_DATA = " belongs to the data; name another file"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a finished run `run`, one `begun`, and the class folders `data`."""
    monkeypatch.chdir(tmp_path)
    for name in ("run/report.csv", "run/summary.json", "run/model/model.json", "begun/config.toml", "begun/log.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    Path("begun/checkpoints").mkdir()
    Path("data/cat").mkdir(parents=True)
    Path("labels.csv").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("out", "run"),
    [
        ("run/report.csv", "run"),
        ("run/cleaned.csv", "run"),  # also where it is missing: it would be taken for the run's
        ("run/decisions.sqlite-wal", "run"),
        ("run/model/model.json", "run"),
        ("data/../run/summary.json", "run"),
        ("begun/log.txt", "begun"),
        ("to-report.csv", "run"),
        ("to-run/report.csv", "run"),
        ("run/places.csv", "run"),
    ],
)
def test_files_of_a_run_are_left_alone(place: Path, out: str, run: str) -> None:
    Path("to-report.csv").symlink_to("run/report.csv")
    Path("to-run").symlink_to("run")
    Path("run/places.csv").symlink_to(place / "labels.csv")  # the link itself would be replaced
    with pytest.raises(SettingsError) as error:
        check_file(Path(out))
    assert str(error.value) == (
        f"--out {out} belongs to the run in {place / run}, which it would break; name another file"
    )


@pytest.mark.parametrize("out", ["run/noisy.csv", "noisy.csv", "report.csv", "new/folder/report.csv"])
def test_tables_of_ones_own_may_be_written_again(place: Path, out: str) -> None:
    Path("config.toml").touch()  # settings beside the user's tables make no run folder
    for _ in range(2):
        check_file(Path(out), [Path("data"), Path("labels.csv"), Path("gone.csv"), None])
        make_room(Path(out))
        Path(out).touch()


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("labels.csv", "--export labels.csv is one of the files to read; name another file"),
        ("link.csv", "--export link.csv is one of the files to read; name another file"),
        ("data/metadata.csv", "--export data/metadata.csv" + IN_DATA),
        ("data/cat/metadata.csv", "--export data/cat/metadata.csv" + IN_DATA),
        ("data/truth.csv", "--export data/truth.csv" + IN_DATA),
        ("data/link.csv", "--export data/link.csv" + IN_DATA),
        ("data/cat/1.PNG", "--export data/cat/1.PNG is named like a picture, but a table is written; name it .csv"),
        ("data/cat", "--export data/cat is a folder; name a file"),
    ],
)
def test_what_is_read_is_not_written(place: Path, out: str, sentence: str) -> None:
    Path("link.csv").symlink_to("labels.csv")
    Path("data/link.csv").symlink_to("../labels.csv")
    Path("data/truth.csv").touch()
    check_file(Path("data/new.csv"), [Path("data")])
    with pytest.raises(SettingsError) as error:
        check_file(Path(out), [Path("data"), Path("labels.csv")], option="--export")
    assert str(error.value) == sentence


def test_a_file_is_no_folder_to_write_to(place: Path) -> None:
    with pytest.raises(SettingsError) as error:
        check_file(Path("labels.csv/new/bad.csv"))
    assert str(error.value) == (
        f"--out labels.csv/new/bad.csv lies below {place / 'labels.csv'}, which is a file; name a file in a folder"
    )
    with pytest.raises(RunError) as failed:
        make_room(Path("labels.csv/new/bad.csv"))
    assert str(failed.value) == ("labels.csv/new cannot be made (Not a directory); name a file in another folder")


@pytest.mark.parametrize("out", ["data/run", "data/cat/deep/run", "data", "link/run"])
def test_results_do_not_go_into_the_data(place: Path, out: str) -> None:
    Path("link").symlink_to("data")
    with pytest.raises(SettingsError) as error:
        check_folder(Path(out), [None, Path("data")])
    assert str(error.value) == (
        f"--out {out} lies inside data, where its pictures would be taken for images of a class; "
        "name a folder elsewhere"
    )


@pytest.mark.parametrize("out", ["results", "data-2/run", "data/scanmix-runs/mine", "data/.run"])
def test_results_may_go_where_reading_does_not_look(place: Path, out: str) -> None:
    check_folder(Path(out), [Path("data"), Path("labels.csv"), Path("gone")])
