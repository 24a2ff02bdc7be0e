"""Settings as TOML and back; mistakes are named with the nearest right thing."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scanmix_cli.engine.config import from_table, to_table
from scanmix_cli.errors import SettingsError
from scanmix_cli.files import read_toml, write_toml
from scanmix_cli.method.settings import MixMatchSettings, Profile
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import PAPER
from scanmix_cli.workflow.request import Request

PROFILES = {
    **{f"official {row}": profile for row, profile in OFFICIAL.items()},
    **{f"paper {row}": profile for row, profile in PAPER.items()},
    "fast, GPU": fast.GPU,
    "fast, CPU": fast.CPU,
    "bare": replace(fast.CPU, contrastive=None, scan=None, gate=None, clustering=None),
}


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_survives_the_way_through_a_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    write_toml(path, {"profile": to_table(PROFILES[name])})
    assert from_table(Profile, read_toml(path)["profile"], str(path)) == PROFILES[name]


def test_absent_parts_are_written_as_false_and_tuples_as_lists() -> None:
    table = to_table(OFFICIAL["webvision"])
    assert table["gate"] is False
    assert table["mixmatch"]["rate_drops"] == list(OFFICIAL["webvision"].mixmatch.rate_drops)
    assert table["mixmatch"]["mix_unlabelled"] is False


def test_keys_left_out_come_from_the_base() -> None:
    changed = from_table(Profile, {"mixmatch": {"lambda_u": 150}, "scan": False}, "run.toml", fast.GPU)
    expected = replace(fast.GPU, mixmatch=replace(fast.GPU.mixmatch, lambda_u=150.0), scan=None)
    assert changed == expected
    assert isinstance(changed.mixmatch.lambda_u, float)


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"epochs": np.int64(3), "time_budget": np.float32(2.5), "seed": np.uint8(7), "backbone": np.str_("small")}
    request = from_table(Request, given, "options")
    assert request == Request(epochs=3, time_budget=2.5, seed=7, backbone="small")
    assert [type(getattr(request, name)) for name in given] == [int, float, int, str]
    for wrong in (np.float64(2.5), np.bool_(True)):
        with pytest.raises(SettingsError, match=r"^options: epochs must be a whole number; got (2\.5|True)$"):
            from_table(Request, {"epochs": wrong}, "options")


def test_keys_left_out_come_from_the_defaults() -> None:
    assert from_table(MixMatchSettings, {"epochs": 3}, "run.toml") == MixMatchSettings(epochs=3)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"mixmatch": {"lamda_u": 1.0}}, "unknown key 'lamda_u'; the nearest known key is 'lambda_u'"),
        ({"warm_up": {}}, "unknown key 'warm_up'; the nearest known key is 'warmup'"),
        ({"zzz": 1}, "unknown key 'zzz'; the nearest known key is "),
        ({"mixmatch": {"epochs": "ten"}}, "mixmatch: epochs must be a whole number; got 'ten'"),
        ({"mixmatch": {"epochs": 2.5}}, "mixmatch: epochs must be a whole number; got 2.5"),
        ({"mixmatch": {"epochs": True}}, "mixmatch: epochs must be a whole number; got True"),
        ({"mixmatch": {"alpha": "4"}}, "mixmatch: alpha must be a number; got '4'"),
        ({"mixmatch": {"alpha": False}}, "mixmatch: alpha must be a number; got False"),
        ({"mixmatch": {"mix_unlabelled": 1}}, "mixmatch: mix_unlabelled must be true or false; got 1"),
        ({"backbone": 18}, "backbone must be text; got 18"),
        ({"mixmatch": {"rate_drops": 40}}, "mixmatch: rate_drops must be a list, each a whole number; got 40"),
        ({"mean": [0.5]}, "mean must be a list of 3 entries, each a number; got [0.5]"),
        ({"mean": 0.5}, "mean must be a list of 3 entries, each a number; got 0.5"),
        ({"mixmatch": {"rate_drops": [40, "50"]}}, "mixmatch: rate_drops must be a whole number; got '50'"),
        ({"mixmatch": 5}, "mixmatch must be a table of settings; got 5"),
        ({"mixmatch": {"alpha": -0.5}}, "mixmatch: alpha must not be negative; got -0.5"),
        ({"mixmatch": {"alpha": 0}}, "mixmatch: alpha must be greater than 0; got 0"),
        ({"mixmatch": {"batch_size": 0}}, "mixmatch: batch_size must be 2 or more; got 0"),
        ({"mixmatch": {"batch_size": 2.5}}, "mixmatch: batch_size must be a whole number; got 2.5"),
        ({"std": [0.2, 0, 0.2]}, "std must be greater than 0; got 0"),
        ({"mixmatch": {"epochs": -1}}, "mixmatch: epochs must not be negative; got -1"),
        ({"mixmatch": {"alpha": float("nan")}}, "mixmatch: alpha must be a finite number; got nan"),
        ({"mixmatch": {"alpha": float("inf")}}, "mixmatch: alpha must be a finite number; got inf"),
        ({"order": "paralel"}, "order must be one of sequential, parallel; got 'paralel'"),
        ({"warmup": {"scope": 1}}, "warmup: scope must be one of head, network; got 1"),
        ({"contrastive": {"views": 3}}, "contrastive: views must be one of 2, 4, 8; got 3"),
        ({"contrastive": {"views": 2.0}}, "contrastive: views must be one of 2, 4, 8; got 2.0"),
        ({"contrastive": True}, "contrastive must be a table of settings; got True"),
    ],
)
def test_mistakes_are_named_with_file_and_key(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        from_table(Profile, table, "run.toml", fast.CPU)
    assert str(caught.value).startswith("run.toml: ")
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 2


@dataclass(frozen=True)
class Needs:
    name: str
    count: int
    share: float = 0.5


def test_a_missing_key_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^run\.toml: missing key 'count'; add it$"):
        from_table(Needs, {"name": "x"}, "run.toml")


@pytest.mark.parametrize("content", ["a = ", "a = 1\na = 2", "[x"])
def test_a_file_that_is_no_toml_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"run\.toml is not valid TOML"):
        read_toml(path)


def test_bytes_that_are_no_text_and_a_missing_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"name = '\xff\xfe'")
    with pytest.raises(SettingsError, match=r"run\.toml is not valid TOML"):
        read_toml(path)
    with pytest.raises(SettingsError, match="does not exist; check the path given to --config"):
        read_toml(tmp_path / "other.toml")
