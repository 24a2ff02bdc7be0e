"""evidence.npz and the map of the images."""

from pathlib import Path

import numpy as np
import pytest

from scanmix_cli.errors import DataError
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.projection import MOST, map_rows, project
from scanmix_cli.evidence.store import load_evidence, save_evidence

LABELS = np.array([1, -1, 0])
CONSISTENCY = np.array([0.5, 1.0, 0.25], np.float32)
EMBEDDING = np.array([0, 2]), np.array([[0.0, 1.0], [2.0, 3.0]], np.float32)
PAIRS = np.array([[1, 0], [-1, -1], [-1, -1]], np.int32)


def observed() -> Evidence:
    evidence = Evidence.empty(3, 2)
    for share in (0.25, 0.75):
        view = View(np.array([[share, 1 - share]] * 3), np.array([0.5 + share, 9.0, 3 - 2 * share]), np.full(3, 0.5))
        evidence.add(LABELS, [view, view])
    return evidence


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    path, neighbors = tmp_path / "evidence.npz", np.array([[1, 2], [0, 2], [0, 1]])
    save_evidence(path, observed(), np.array([4, 7, 9]), LABELS, neighbors, CONSISTENCY, EMBEDDING, PAIRS)
    found = load_evidence(path)
    assert found["rows"].tolist() == [4, 7, 9]
    assert found["labels"].tolist() == [1, -1, 0]
    assert found["epochs"].tolist() == [0, 1]
    assert found["history"][[0, 2]].tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert found["loss_history"][[0, 2]].tolist() == [[0.75, 1.25], [2.5, 1.5]]
    assert found["probability_trend"][[0, 2]].tolist() == [-0.5, 0.5]
    assert found["loss_trend"][[0, 2]].tolist() == [0.5, -1.0]
    for name in ("history", "loss_history", "probability_trend", "loss_trend"):
        assert np.isnan(found[name][1]).all(), f"{name}: unlabelled"
    assert [found[name].dtype for name in ("history", "loss_history", "loss_trend")] == ["f2", "f2", "f4"]
    assert found["mean_loss"].tolist() == [1.0, 0.0, 2.0]
    assert found["given_probability"].tolist() == [0.5, 0.0, 0.5]
    assert found["final_posterior"].tolist() == [0.5, 0.5, 0.5]
    assert found["final_probability"].shape == (3, 2)
    assert np.array_equal(found["neighbors"], neighbors)
    assert found["view_consistency"].tolist() == [0.5, 1.0, 0.25]
    assert np.array_equal(found["embedding_rows"], EMBEDDING[0])
    assert np.array_equal(found["embedding"], EMBEDDING[1])
    assert np.array_equal(found["two_classes"], PAIRS)


def test_how_often_networks_and_neighbours_named_another_class(tmp_path: Path) -> None:
    evidence, path = Evidence.empty(3, 2), tmp_path / "evidence.npz"
    first, second = np.array([[0.9, 0.1]] * 3), np.array([[0.2, 0.8], [0.2, 0.8], [0.6, 0.4]])
    for other in (first, second):
        evidence.add(LABELS, [View(shares, np.zeros(3), np.zeros(3)) for shares in (first, other)])
    evidence.final_probability[:] = second  # predicted: 1, 1, 0
    neighbors = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 2]])
    save_evidence(path, evidence, np.arange(3), LABELS, neighbors, CONSISTENCY, EMBEDDING, PAIRS)
    found = load_evidence(path)
    assert found["disagreement"].tolist() == [0.75, 0.0, 0.0], "of four looks at each image; the second has no label"
    assert found["disagreement_by_network"].tolist() == [[1.0, 0.5], [0.0, 0.0], [0.0, 0.0]], "of two looks of each"
    assert found["disagreement"].dtype == found["disagreement_by_network"].dtype == np.float32
    assert found["consensus"].tolist() == [0.5, 0.5, 1.0], "of two epochs"
    assert found["neighbors_named"].tolist() == [0.5, 0.0, 0.0], "of the two others"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("losses", "kept", "trend"),
    [
        ([5.0], [5.0], np.nan),
        ([4.0, 1.0, 1.0, 0.0], [4.0, 1.0, 1.0, 0.0], -1.2),  # (-1.5 * 4 - 0.5 * 1 + 0.5 * 1 + 1.5 * 0) / 5
        (
            [1.0 + epoch / 4 + 9 * (epoch % 2) for epoch in range(17)],
            [1 + epoch / 4 for epoch in range(0, 17, 2)],
            0.25,
        ),
    ],
    ids=["one epoch has none", "four", "every second epoch is kept"],
)
def test_a_trend_is_the_slope_an_epoch_of_the_line_through_the_kept_epochs(
    losses: list[float], kept: list[float], trend: float, tmp_path: Path
) -> None:
    evidence, path = Evidence.empty(3, 2), tmp_path / "evidence.npz"
    for loss in losses:
        evidence.add(LABELS, [View(np.full((3, 2), 0.5), np.full(3, loss), np.zeros(3))])
    save_evidence(path, evidence, np.arange(3), LABELS, None, CONSISTENCY, EMBEDDING, PAIRS)
    found = load_evidence(path)
    assert found["loss_history"][0].tolist() == kept
    assert found["loss_trend"][0] == pytest.approx(trend, rel=1e-6, nan_ok=True)
    assert found["probability_trend"][0] == pytest.approx(0.0 * trend, abs=1e-6, nan_ok=True)
    assert found["disagreement_by_network"].tolist() == [[1.0], [0.0], [0.0]], "one network"


def test_no_neighbors_no_array_and_no_file_no_arrays(tmp_path: Path) -> None:
    save_evidence(tmp_path / "e.npz", observed(), np.arange(3), LABELS, None, CONSISTENCY, EMBEDDING, PAIRS)
    assert not {"neighbors", "neighbors_named"} & load_evidence(tmp_path / "e.npz").keys()
    assert load_evidence(tmp_path / "none.npz") == {}


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 and no more"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "evidence.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"^.*evidence\.npz is damaged \(.*\): remove it, or run `scanmix train DATA`"):
        load_evidence(path)


def test_the_map_keeps_neighbours_together() -> None:
    generator = np.random.default_rng(0)
    group = np.arange(60) % 3
    features = generator.normal(0, 0.1, (60, 8))
    features[np.arange(60), group] += 5
    places = project(features, seed=0)
    assert places.shape == (60, 2)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (group[distances.argmin(1)] == group).all()
    assert np.array_equal(places, project(features, seed=0))


def test_tiny_and_large_sets_have_a_map_too() -> None:
    assert project(np.ones((3, 4)), seed=0).tolist() == [[0, 0]] * 3
    assert project(np.eye(6), seed=0).shape == (6, 2)
    assert map_rows(3, seed=0).tolist() == [0, 1, 2]
    rows = map_rows(MOST + 500, seed=0)
    assert len(np.unique(rows)) == MOST
    assert (np.diff(rows) > 0).all()
