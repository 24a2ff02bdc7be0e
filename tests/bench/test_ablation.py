"""benchmarks/ablation.py: variants of a profile, and a line for each of their cells."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from toy_sets import write_folder

from scanmix_cli.errors import SettingsError
from scanmix_cli.profiles import fast

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def ablation(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("ablation")


def test_a_variant_changes_what_it_names_and_nothing_else(ablation: ModuleType) -> None:
    changed = ablation.variant(fast.GPU, "two, mild: beliefs.networks = 2;mixmatch.alpha = 2.0; scan = false")
    assert (changed.beliefs.networks, changed.mixmatch.alpha, changed.scan) == (2, 2.0, None)
    assert changed.name == "fast, two, mild"
    assert changed.beliefs.epochs == fast.GPU.beliefs.epochs
    assert ablation.variant(fast.CPU, "beliefs: beliefs.epochs = 7").beliefs.epochs == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default", "variant 'default' has no colon: write it as 'name: beliefs.networks = 1'"),
        ("a: networks", "variant 'a' is not valid TOML"),
        ("a: beliefs.nets = 1", "variant 'a': beliefs: unknown key 'nets'; the nearest known key is 'networks'"),
    ],
)
def test_what_is_no_variant(ablation: ModuleType, text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        ablation.variant(fast.GPU, text)
    assert str(caught.value).startswith(message)


def test_two_variants_share_a_pre_training(
    ablation: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_folder(tmp_path / "own", per_class=8, held_out=2)
    small = "mixmatch.epochs=1;warmup.epochs=1;scan.epochs=1;beliefs.epochs={};beliefs.batch_size=8"
    command = [str(tmp_path / "own"), "--noise", "sym", "--rate", "0.4", "--out", str(tmp_path / "out")]
    command += ["--pretrain-epochs", "1", "--device", "cpu"]
    ablation.main([*command, "--variant", "one: " + small.format(1), "--variant", "two: " + small.format(2)])
    lines = capsys.readouterr().out.splitlines()
    epochs = {cells[1]: cells[10] for cells in (line.split(" | ") for line in lines[2:4])}
    assert epochs == {"scanmix, fast, one": "1", "scanmix, fast, two": "2"}
    assert len(list((tmp_path / "out" / "pretrained").glob("*.safetensors"))) == 1
