"""Run folders: made once, never overwritten unasked, the newest known by name."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from scanmix_cli.engine.run_folder import Stopped, check_free, choose_folder, opened_folder, point_latest
from scanmix_cli.errors import RunError, SettingsError


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def opened(folder: Path, overwrite: bool = False, resume: bool = False) -> AbstractContextManager[Path]:
    return opened_folder(folder, overwrite, resume)


def earlier_run(name: str = "run") -> Path:
    folder = Path(name)
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("", encoding="utf-8")
    (folder / "report.csv").write_text("old", encoding="utf-8")
    return folder


def test_folders_are_named_after_the_data_and_numbered() -> None:
    assert choose_folder(Path("mine"), "pets") == Path("mine")
    assert choose_folder(None, "pets") == Path("scanmix-runs/pets-1")
    Path("scanmix-runs/pets-1").mkdir(parents=True)
    assert choose_folder(None, "pets") == Path("scanmix-runs/pets-2")
    assert choose_folder(None, "../my pets!") == Path("scanmix-runs/my-pets-1")
    assert choose_folder(None, "..") == Path("scanmix-runs/run-1")


def test_an_existing_run_is_not_overwritten_unasked() -> None:
    folder = earlier_run()
    with pytest.raises(SettingsError, match="exists already; use --overwrite to replace it, --resume to go on"):
        check_free(folder, overwrite=False, resume=False)
    check_free(folder, overwrite=True, resume=False)
    check_free(folder, overwrite=False, resume=True)
    assert (folder / "report.csv").read_text(encoding="utf-8") == "old", "checking touches nothing"


def test_new_and_empty_folders_are_free() -> None:
    check_free(Path("new"), overwrite=False, resume=False)
    Path("empty").mkdir()
    check_free(Path("empty"), overwrite=False, resume=False)


def test_files_that_are_no_run_are_never_overwritten() -> None:
    Path("photos").mkdir()
    Path("photos/cat.jpg").write_bytes(b"")
    with pytest.raises(
        SettingsError, match=r"photos holds cat\.jpg, which is no part of a run; name another folder with --out"
    ):
        check_free(Path("photos"), overwrite=True, resume=False)
    with pytest.raises(SettingsError, match="is a file; name a folder with --out"):
        check_free(Path("photos/cat.jpg"), overwrite=True, resume=False)


def test_one_file_of_a_run_does_not_make_the_others_fair_game() -> None:
    folder = earlier_run()
    (folder / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"holds thesis\.tex, which is no part of a run"):
        check_free(folder, overwrite=True, resume=False)
    with pytest.raises(SettingsError, match=r"holds thesis\.tex"), opened(folder, overwrite=True):
        pass
    assert sorted(path.name for path in folder.iterdir()) == ["config.toml", "report.csv", "thesis.tex"]


def test_the_note_of_the_newest_run_is_no_folder() -> None:
    with pytest.raises(SettingsError, match="is where the newest run is noted; name another folder with --out"):
        check_free(Path("scanmix-runs/latest"), overwrite=True, resume=False)


def test_resuming_needs_a_run() -> None:
    with pytest.raises(SettingsError, match="holds no run to resume; start it without --resume"):
        check_free(Path("new"), overwrite=False, resume=True)


def test_overwriting_empties_and_resuming_keeps() -> None:
    folder = earlier_run()
    with opened(folder, resume=True) as path:
        assert path == folder
        assert (folder / "report.csv").exists()
    with opened(folder, overwrite=True):
        assert [path.name for path in folder.iterdir()] == [".lock"]
    assert list(folder.iterdir()) == []
    with opened(Path("deep/new")) as path:
        assert path.is_dir()


def test_what_a_killed_run_left_half_written_is_overwritten() -> None:
    folder = earlier_run()
    (folder / ".metrics.csv.4711.tmp").write_bytes(b"sta")
    check_free(folder, overwrite=True, resume=False)
    with opened(folder, overwrite=True):
        pass
    assert list(folder.iterdir()) == []
    (folder / ".notes.txt.4711.tmp").write_bytes(b"mine")
    with pytest.raises(SettingsError, match=r"holds \.notes\.txt\.4711\.tmp, which is no part of a run"):
        check_free(folder, overwrite=True, resume=False)


def test_a_folder_that_cannot_be_made_is_a_sentence() -> None:
    Path("file").write_bytes(b"")
    sentence = r"run folder file/run cannot be made or written to \(Not a directory\); name another one with --out"
    with pytest.raises(RunError, match=sentence), opened(Path("file/run")):
        pass


def test_a_number_that_another_run_took_meanwhile_is_passed_over() -> None:
    folder = choose_folder(None, "pets")
    with opened(folder), opened_folder(folder, False, False, numbered=True) as second:
        assert second == Path("scanmix-runs/pets-2")
        assert second.is_dir()
        with opened_folder(folder, False, False, numbered=True) as third:
            assert third == Path("scanmix-runs/pets-3")


def test_whoever_stops_a_run_is_told_its_folder() -> None:
    with pytest.raises(Stopped) as stopped, opened(Path("run")):
        raise KeyboardInterrupt
    assert stopped.value.folder == Path("run")


def test_an_interrupt_while_the_lock_is_taken_away_is_the_run_s_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def work(patch: pytest.MonkeyPatch) -> None:
        with opened(Path("run")):
            patch.setattr(Path, "unlink", stop)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as stopped:
        work(patch)
    assert isinstance(stopped.value, Stopped)
    assert stopped.value.folder == Path("run")


def test_an_interrupt_before_the_folder_is_ready_is_of_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scanmix_cli.engine.run_folder.locked", stop)
    with pytest.raises(KeyboardInterrupt) as stopped, opened(Path("run")):
        raise AssertionError
    assert not isinstance(stopped.value, Stopped)


def test_latest_names_the_newest_run() -> None:
    inside, outside = Path("scanmix-runs/pets-1"), Path("elsewhere")
    for folder in (inside, outside):
        folder.mkdir(parents=True)
    pointer = Path("scanmix-runs/latest")
    point_latest(inside)
    assert pointer.read_text(encoding="utf-8") == "pets-1\n"
    point_latest(outside)
    assert pointer.read_text(encoding="utf-8") == f"{outside.resolve()}\n"
