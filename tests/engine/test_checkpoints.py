"""Checkpoints: what is saved comes back, from the right run only, and without running code."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from scanmix_cli.engine.checkpoints import Checkpoints, Stateful
from scanmix_cli.engine.context import MetricRows
from scanmix_cli.errors import SettingsError
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.method.split import LossHistory


def trained(seed: int, steps: int) -> tuple[nn.Module, torch.optim.SGD, torch.optim.Adam, torch.Generator]:
    """A network with batch norm, two optimisers with state, a generator that has drawn."""
    generator = torch.Generator().manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(steps):
        advance(net, sgd, adam, generator)
    return net, sgd, adam, generator


def advance(net: nn.Module, sgd: torch.optim.SGD, adam: torch.optim.Adam, generator: torch.Generator) -> torch.Tensor:
    loss = net(torch.randn(6, 3, generator=generator)).square().mean()
    net.zero_grad()
    loss.backward()
    sgd.step()
    adam.step()
    return loss.detach()


def test_networks_optimisers_and_the_generator_go_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    net, sgd, adam, generator = trained(seed=1, steps=3)
    Checkpoints(tmp_path, "data").save("scan", 3, 10, {"net": net, "sgd": sgd, "adam": adam}, generator)
    other, other_sgd, other_adam, other_generator = trained(seed=2, steps=0)
    restored = Checkpoints(tmp_path, "data", resume=True).restore(
        "scan", {"net": other, "sgd": other_sgd, "adam": other_adam}, other_generator
    )
    assert restored == (3, 10)
    for _ in range(3):
        expected = advance(net, sgd, adam, generator)
        assert torch.equal(advance(other, other_sgd, other_adam, other_generator), expected)
    for name, value in net.state_dict().items():
        assert torch.equal(other.state_dict()[name], value), name


def test_evidence_history_and_metrics_come_back(tmp_path: Path) -> None:
    evidence, history, rows = Evidence.empty(3, 2), LossHistory(5), MetricRows()
    view = View(np.array([[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]]), np.ones(3), np.full(3, 0.25))
    evidence.add(np.array([0, -1, 1]), [view])
    history.add(np.array([0.0, 0.5, 1.0]))
    rows.rows.append({"stage": "scanmix", "epoch": 1, "precision": np.float64(0.5)})
    state: dict[str, Stateful] = {"evidence": evidence, "history": history, "metrics": rows}
    Checkpoints(tmp_path).save("scanmix", 1, 2, state, torch.Generator())

    found, found_history, found_rows = Evidence.empty(3, 2), LossHistory(5), MetricRows()
    loaded: dict[str, Stateful] = {"evidence": found, "history": found_history, "metrics": found_rows}
    Checkpoints(tmp_path, resume=True).restore("scanmix", loaded, torch.Generator())
    for name, value in evidence.state_dict().items():
        assert np.array_equal(found.state_dict()[name], value), name
        assert type(found.state_dict()[name]) is type(value)
    assert found_rows.rows == [{"stage": "scanmix", "epoch": 1, "precision": 0.5}]
    assert found_history.add(np.array([1.0, 0.5, 0.0])).tolist() == [0.5, 0.5, 0.5]
    found.add(np.array([0, -1, 1]), [View(np.full((3, 2), 0.5), np.ones(3), np.ones(3))])
    assert found.observations == 2
    assert found.posterior_sum.tolist() == [1.25, 0.0, 1.25]


def test_a_saved_state_does_not_follow_the_arrays_it_came_from(tmp_path: Path) -> None:
    evidence = Evidence.empty(2, 2)
    Checkpoints(tmp_path).save("scanmix", 1, 2, {"evidence": evidence}, torch.Generator())
    evidence.loss_sum += 5
    found = Evidence.empty(2, 2)
    Checkpoints(tmp_path, resume=True).restore("scanmix", {"evidence": found}, torch.Generator())
    assert found.loss_sum.tolist() == [0.0, 0.0]


def test_other_data_or_settings_are_refused_in_one_sentence(tmp_path: Path) -> None:
    Checkpoints(tmp_path, "these").save("scan", 1, 2, {}, torch.Generator())
    Checkpoints(tmp_path, "these").keep("gate", torch.tensor(0.5))
    other = Checkpoints(tmp_path, "those", resume=True)
    sentence = r"^checkpoint .*scan\.pt was made from other data or settings; resume with the same ones or use --ov"
    with pytest.raises(SettingsError, match=sentence):
        other.restore("scan", {}, torch.Generator())
    with pytest.raises(SettingsError, match=r"kept-gate\.pt was made from other data"):
        other.kept("gate")


def test_a_kept_value_and_a_stage_of_the_same_name_do_not_meet(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "data", resume=True)
    checkpoints.keep("neighbors", torch.tensor([[1, 0]]))
    checkpoints.save("neighbors", 1, 1, {}, torch.Generator())
    kept = checkpoints.kept("neighbors")
    assert kept is not None
    assert kept.tolist() == [[1, 0]]
    assert checkpoints.restore("neighbors", {}, torch.Generator()) == (1, 1)


def test_nothing_is_restored_unless_resuming(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "data")
    checkpoints.save("scan", 1, 2, {}, torch.Generator())
    checkpoints.keep("gate", torch.tensor(0.5))
    assert checkpoints.restore("scan", {}, torch.Generator()) is None
    assert checkpoints.kept("gate") is None
    resuming = Checkpoints(tmp_path, "data", resume=True)
    assert resuming.restore("warmup", {}, torch.Generator()) is None, "that stage had not begun"


def test_without_a_folder_nothing_is_kept() -> None:
    checkpoints = Checkpoints(None, resume=True)
    checkpoints.save("scan", 1, 2, {}, torch.Generator())
    checkpoints.keep("gate", torch.tensor(0.5))
    assert checkpoints.kept("gate") is None
    assert checkpoints.restore("scan", {}, torch.Generator()) is None
    checkpoints.remove()


def test_removing_deletes_the_folder(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.remove()
    checkpoints.save("scan", 1, 2, {}, torch.Generator())
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["scan.pt"], "no temporary file is left"
    checkpoints.remove()
    assert not (tmp_path / "checkpoints").exists()


class Trap:
    """Runs code when unpickled."""

    def __reduce__(self) -> tuple:
        return Path.touch, (Path("sprung"),)


def test_loading_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"fingerprint": "data", "value": Trap()}, tmp_path / "kept-gate.pt")
    with pytest.raises(SettingsError, match=r"kept-gate\.pt cannot be read; start the run anew with --overwrite"):
        Checkpoints(tmp_path, "data", resume=True).kept("gate")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.97])
def test_a_torn_file_is_reported(tmp_path: Path, share: float) -> None:
    net, _, _, generator = trained(seed=1, steps=0)
    Checkpoints(tmp_path, "data").save("scan", 1, 2, {"net": net}, generator)
    path = tmp_path / "scan.pt"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(SettingsError, match=r"scan\.pt cannot be read"):
        Checkpoints(tmp_path, "data", resume=True).restore("scan", {"net": net}, generator)
