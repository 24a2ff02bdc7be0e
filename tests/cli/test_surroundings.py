"""Surroundings that a program does not count on: a working folder that is gone, a locale without most letters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from scanmix_cli.cli.app import main

BARE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("asked", ["check", "train"])
def test_a_working_folder_that_is_gone_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: str
) -> None:
    for number in range(8):
        path = tmp_path / "photos" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number, 0, 0)).save(path)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "gone").rmdir()
    with pytest.raises(SystemExit) as stopped:
        main([asked, str(tmp_path / "photos")])
    sentence = "scanmix: the working folder has been removed; change to one that is there and run the command again"
    assert (stopped.value.code, capsys.readouterr().err.splitlines()[-1]) == (2, sentence)


def test_a_locale_without_letters_finds_and_makes_files(tmp_path: Path) -> None:
    """Paths of a table and folders of classes go by their bytes in UTF-8."""
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "photos" / "\u00fcn\u00ef.png")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from scanmix_cli.data.decode import read_content, stored_size\n"
        "from scanmix_cli.data.table_rows import resolve\n"
        "from scanmix_cli.export.items import Item\n"
        "from scanmix_cli.export.pictures import lay_pictures\n"
        "from scanmix_cli.export.coco import image_size\n"
        "assert sys.getfilesystemencoding() != 'utf-8'\n"
        "name = '\\u00fcn\\u00ef.png'\n"
        "[found] = resolve([name], Path('photos'))\n"
        "read_content(found)\n"
        "item = Item(0, name, str(Path('photos', name)), '\\u00fcn\\u00ef', 'train', *[''] * 5, False, None, None)\n"
        "placed = lay_pictures([item], Path('out'), ['\\U0001f408'], 'copy')\n"
        "assert image_size(Path('out', placed.paths[0])) == (8, 8)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env={**os.environ, **BARE}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "\U0001f408" / "\u00fcn\u00ef.png").exists()


def test_a_name_beyond_the_locale_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        "\u00fcn\u00ef".encode("ascii")

    monkeypatch.setattr("scanmix_cli.cli.app._run", fail)
    with pytest.raises(SystemExit) as stopped:
        main([])
    advice = "cannot be written in the letters of this locale (ascii); set PYTHONUTF8=1 and run the command again"
    assert (stopped.value.code, advice in capsys.readouterr().err) == (2, True)
