"""Checkpoints: what is saved comes back, from the right run only, and without running code."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from scanmix_cli.engine.checkpoints import Checkpoints, Snapshot, Stateful
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
    Checkpoints(tmp_path, "data").save("scan", Snapshot.take(3, 10, {"net": net, "sgd": sgd, "adam": adam}, generator))
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
    Checkpoints(tmp_path).save("scanmix", Snapshot.take(1, 2, state, torch.Generator()))

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
    Checkpoints(tmp_path).save("scanmix", Snapshot.take(1, 2, {"evidence": evidence}, torch.Generator()))
    evidence.loss_sum += 5
    found = Evidence.empty(2, 2)
    Checkpoints(tmp_path, resume=True).restore("scanmix", {"evidence": found}, torch.Generator())
    assert found.loss_sum.tolist() == [0.0, 0.0]


def test_other_data_or_settings_are_refused_in_one_sentence(tmp_path: Path) -> None:
    Checkpoints(tmp_path, "these").save("scan", Snapshot.take(1, 2, {}, torch.Generator()))
    Checkpoints(tmp_path, "these").keep("gate", torch.tensor(0.5))
    other = Checkpoints(tmp_path, "those", resume=True)
    sentence = (
        r"^checkpoint .*scan-000001-\w{16}\.pt was made from other data or settings; resume with the same ones or"
    )
    with pytest.raises(SettingsError, match=sentence):
        other.restore("scan", {}, torch.Generator())
    with pytest.raises(SettingsError, match=r"kept-gate-\w+-\w+\.pt was made from other data"):
        other.kept("gate")


def test_a_kept_value_and_a_stage_of_the_same_name_do_not_meet(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "data", resume=True)
    checkpoints.keep("neighbors", torch.tensor([[1, 0]]))
    checkpoints.save("neighbors", Snapshot.take(1, 1, {}, torch.Generator()))
    kept = checkpoints.kept("neighbors")
    assert kept is not None
    assert kept.tolist() == [[1, 0]]
    assert checkpoints.restore("neighbors", {}, torch.Generator()) == (1, 1)


def test_nothing_is_restored_unless_resuming(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "data")
    checkpoints.save("scan", Snapshot.take(1, 2, {}, torch.Generator()))
    checkpoints.keep("gate", torch.tensor(0.5))
    assert checkpoints.restore("scan", {}, torch.Generator()) is None
    assert checkpoints.kept("gate") is None
    resuming = Checkpoints(tmp_path, "data", resume=True)
    assert resuming.restore("warmup", {}, torch.Generator()) is None, "that stage had not begun"


def test_without_a_folder_nothing_is_kept() -> None:
    checkpoints = Checkpoints(None, resume=True)
    checkpoints.save("scan", Snapshot.take(1, 2, {}, torch.Generator()))
    checkpoints.keep("gate", torch.tensor(0.5))
    assert checkpoints.kept("gate") is None
    assert checkpoints.restore("scan", {}, torch.Generator()) is None
    checkpoints.remove()


def test_removing_deletes_the_folder(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.remove()
    checkpoints.save("scan", Snapshot.take(1, 2, {}, torch.Generator()))
    names = [path.name for path in (tmp_path / "checkpoints").iterdir()]
    assert [re.sub("[0-9a-f]{16}", "DIGEST", name) for name in names] == ["scan-000001-DIGEST.pt"], "no temporary file"
    checkpoints.remove()
    assert not (tmp_path / "checkpoints").exists()


class Trap:
    """Runs code when unpickled."""

    def __reduce__(self) -> tuple:
        return Path.touch, (Path("sprung"),)


def digest(path: Path) -> Path:
    """The file under the name that its content gives it."""
    return path.rename(path.with_name(f"{path.stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}.pt"))


def test_loading_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"fingerprint": "data", "value": Trap()}, tmp_path / "kept-gate-000000.pt")
    path, told = digest(tmp_path / "kept-gate-000000.pt"), list[str]()
    assert Checkpoints(tmp_path, "data", True, told.append).kept("gate") is None
    assert not (tmp_path / "sprung").exists()
    assert told == [f"warning: checkpoint {path} is damaged and passed over; the run goes on from an earlier state"]


def counting(folder: Path, epochs: range) -> nn.Module:
    """A net whose weight is the number of its last epoch, saved after each of them."""
    net = nn.Linear(1, 1)
    for epoch in epochs:
        nn.init.constant_(net.weight, epoch)
        Checkpoints(folder, "data").save("scan", Snapshot.take(epoch, 9, {"net": net}, torch.Generator()))
    return net


def test_the_last_two_states_are_kept(tmp_path: Path) -> None:
    counting(tmp_path, range(1, 5))
    assert [path.name.split("-")[1] for path in sorted(tmp_path.iterdir())] == ["000003", "000004"]


@pytest.mark.parametrize("damage", ["torn", "empty", "flipped"])
def test_a_damaged_file_is_passed_over_with_a_warning(tmp_path: Path, damage: str) -> None:
    net, told = counting(tmp_path, range(1, 3)), list[str]()
    path = max(tmp_path.iterdir())
    whole = path.read_bytes()
    middle = len(whole) // 2
    contents = {"torn": whole[:middle], "empty": b"", "flipped": whole[:middle] + b"?" + whole[middle + 1 :]}
    path.write_bytes(contents[damage])
    resumed = Checkpoints(tmp_path, "data", True, told.append)
    assert resumed.restore("scan", {"net": net}, torch.Generator()) == (1, 9)
    assert net.weight.item() == 1
    assert told == [f"warning: checkpoint {path} is damaged and passed over; the run goes on from an earlier state"]
    nn.init.constant_(net.weight, 2)
    resumed.save("scan", Snapshot.take(2, 9, {"net": net}, torch.Generator()))
    assert [other.name.split("-")[1] for other in sorted(tmp_path.iterdir())] == ["000001", "000002"]
    assert resumed.restore("scan", {"net": net}, torch.Generator()) == (2, 9)
    assert len(told) == 1, "the damaged one is gone"


def test_with_no_good_file_left_the_stage_starts_anew(tmp_path: Path) -> None:
    net = counting(tmp_path, range(1, 3))
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    assert Checkpoints(tmp_path, "data", resume=True).restore("scan", {"net": net}, torch.Generator()) is None


def test_a_snapshot_can_be_put_back_twice(tmp_path: Path) -> None:
    net, sgd, adam, generator = trained(seed=1, steps=2)
    evidence = Evidence.empty(3, 2)
    state: dict[str, Stateful] = {"net": net, "sgd": sgd, "adam": adam, "evidence": evidence}
    snapshot = Snapshot.take(2, 9, state, generator)
    losses = []
    for _ in range(2):
        snapshot.restore(state, generator)
        assert not evidence.loss_sum.any()
        losses.append([advance(net, sgd, adam, generator).item() for _ in range(3)])
        evidence.loss_sum += 1
    assert losses[0] == losses[1]


def test_a_rate_that_is_a_tensor_stays_that_tensor() -> None:
    weight, rate = nn.Parameter(torch.ones(1)), torch.tensor(0.5)
    optimizer = torch.optim.SGD([weight], lr=rate)
    snapshot = Snapshot.take(0, 1, {"optimizer": optimizer}, torch.Generator())
    rate.fill_(0.1)
    snapshot.restore({"optimizer": optimizer}, torch.Generator())
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
