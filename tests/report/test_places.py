"""Every row's file is found again, also where its name does not say where it lies."""

from pathlib import Path

import pytest

from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError
from scanmix_cli.report.places import PLACES, image_paths, save_places


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(run: Path, samples: Samples, root: Path | None = None) -> list[str]:
    report = samples.table[["filename", "split"]]
    return image_paths(run, report, {"data": {"root": str(samples.root.absolute())}}, root)


def test_a_folder_needs_no_file(tmp_path: Path) -> None:
    touch(tmp_path / "data/a/ü 1.png", tmp_path / "data/b/2.png")
    samples = read_samples(tmp_path / "data")
    save_places(tmp_path, samples)
    assert not (tmp_path / PLACES).exists()
    assert found(tmp_path, samples) == samples.table["path"].tolist()
    assert found(tmp_path, samples, tmp_path / "moved") == [f"{tmp_path}/moved/a/ü 1.png", f"{tmp_path}/moved/b/2.png"]


def test_a_table_that_shortens_names_and_a_test_folder_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    touch(Path("photos/x/1.png"), Path("photos/y/2.png"), Path("other/a/3.png"), Path("other/b/4.png"))
    Path("labels.csv").write_text("file_name,label\n1,a\n2.png,b\n", encoding="utf-8")
    run = tmp_path / "run"
    run.mkdir()
    for samples in (
        read_samples(Path("photos"), labels=Path("labels.csv")),
        read_samples(Path("photos"), test=Path("other")),
    ):
        save_places(run, samples)
        expected = [str(Path(path).absolute()) for path in samples.table["path"]]
        assert found(run, samples) == expected
        assert all(Path(path).is_file() for path in expected)
        assert (run / PLACES).is_file()


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    touch(tmp_path / "data/a/1.png", tmp_path / "data/b/2.png")
    samples = read_samples(tmp_path / "data")
    (tmp_path / PLACES).write_text("row,path\nx,y\n")
    with pytest.raises(DataError, match=r"places\.csv is damaged"):
        found(tmp_path, samples)
