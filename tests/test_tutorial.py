"""Every block of docs/tutorial.md runs, in order, in one folder: on fewer images and with a shorter schedule."""

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from scanmix_cli.cli.app import main
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast

REPOSITORY = Path(__file__).resolve().parents[1]
TUTORIAL = REPOSITORY / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIGITS = ("0", "3")
PER_CLASS = 12
MEASURED = 100  # with fewer images nobody looks whether outside weights see them better


def blocks() -> list[tuple[str, str]]:
    """Language and content of every fenced block."""
    return [(match[1], match[2]) for match in BLOCK.finditer(TUTORIAL.read_text(encoding="utf-8"))]


def few_digits(folder: Path) -> None:
    """The first images of two classes, in the places where the tutorial has them."""
    for split in ("train", "test"):
        for name in DIGITS:
            source, target = (
                REPOSITORY / "sample_data/digits" / split / name,
                folder / "sample_data/digits" / split / name,
            )
            target.mkdir(parents=True)
            for path in sorted(source.iterdir())[:PER_CLASS]:
                shutil.copy(path, target)


def few_small_digits(n_class: int) -> Bunch:
    """The first images of scikit-learn's own."""
    found = load_digits(n_class=n_class)
    return Bunch(images=found.images[:MEASURED], target=found.target[:MEASURED])


def short(profile: Profile) -> Profile:
    """Two epochs a stage."""
    assert profile.contrastive is not None
    assert profile.scan is not None
    return replace(
        profile,
        contrastive=replace(profile.contrastive, epochs=2),
        scan=replace(profile.scan, epochs=2),
        warmup=replace(profile.warmup, epochs=2),
        mixmatch=replace(profile.mixmatch, epochs=2),
        beliefs=profile.beliefs and replace(profile.beliefs, epochs=2),
    )


def run_console(text: str) -> None:
    """Each `$ scanmix ...` line, in this process; it has to end well."""
    commands = [line.removeprefix("$ ") for line in text.splitlines()]
    assert all(command.startswith("scanmix ") for command in commands)
    for command in commands:
        with pytest.raises(SystemExit) as stopped:
            main(shlex.split(command)[1:])
        assert not stopped.value.code, command


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("datasets", "cleanlab", "pycocotools"):
        pytest.importorskip(package, reason=f"the tutorial uses {package}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(fast, "CPU", short(fast.CPU))
    monkeypatch.setattr("sklearn.datasets.load_digits", few_small_digits)
    few_digits(tmp_path)
    namespace: dict[str, object] = {}
    seen = set()
    for language, text in blocks():
        seen.add(language)
        if language == "python":
            exec(compile(text, str(TUTORIAL), "exec"), namespace)
        elif language == "console":
            run_console(text)
    assert seen == {"python", "console", "text"}  # blocks of text need a server or a package that is not installed
    told = capsys.readouterr().out
    cleaned = namespace["result"].cleaned  # type: ignore[attr-defined]  # without what was dropped
    assert len(cleaned) < len(DIGITS) * PER_CLASS
    assert f"\n{len(cleaned)} training images" in told
    assert re.search(r"\(\d+, 128\) embeddings of \d+ files", told)
