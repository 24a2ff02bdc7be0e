"""`ScanMixClassifier` behaves as scikit-learn's classifiers do.

Of scikit-learn's own checks those run that need no table of numbers: parameters, cloning, tags, unfitted use, missing
y. The others feed 2-D float arrays, which are no images, so what they check is tested here on images instead: nothing
of X and y is changed, the same seed gives the same result, classes come back in their own type, scores, pickling,
cross-validation.
"""

import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict
from sklearn.utils import estimator_checks

import scanmix_cli as scanmix
from scanmix_cli.errors import SettingsError
from scanmix_cli.report.table import REPORT_COLUMNS

SHORT = {"epochs": 1, "pretrain_epochs": 1, "device": "cpu"}
PARAMETER_CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_mixin_order",
    "check_estimators_unfitted",
    "check_requires_y_none",
]


def make_images(count: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Dark and red squares, uint8 (N, 16, 16, 3), and 7 or 30 an image."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 60, (count, 16, 16, 3), dtype=np.uint8)
    labels = np.arange(count) % 2
    images[labels == 1, ..., 0] += 150
    return images, np.array([7, 30])[labels]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> scanmix.ScanMixClassifier:
    """Fitted in an empty folder, which is empty again afterwards: neither run, nor cache, nor pictures stay."""
    folder = tmp_path_factory.mktemp("fit")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr("tempfile.tempdir", str(folder))
        model = scanmix.ScanMixClassifier(**SHORT).fit(*make_images())
        model.predict(make_images(2)[0])
        left = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
        others = ("matplotlib", "torchinductor")  # one keeps its list of fonts, the other makes an empty folder
        assert [name for name in left if not any(other in name for other in others)] in ([], ["cache"])
    return model


@pytest.mark.parametrize("name", PARAMETER_CHECKS)
def test_scikit_learn_checks(name: str) -> None:
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this version of scikit-learn has no {name}")
    check("ScanMixClassifier", scanmix.ScanMixClassifier())


def test_labels_come_back_in_their_own_type_and_order(fitted: scanmix.ScanMixClassifier) -> None:
    images, labels = make_images()
    assert fitted.classes_.tolist() == [7, 30]  # as text they would be sorted the other way round
    assert fitted.classes_.dtype == labels.dtype
    probabilities = fitted.predict_proba(images)
    assert probabilities.shape == (24, 2)
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    predicted = fitted.predict(images)
    assert predicted.tolist() == [[7, 30][column] for column in probabilities.argmax(axis=1)]
    assert fitted.score(images, labels) == (predicted == labels).mean() > 0.9
    assert tuple(fitted.report_.columns) == REPORT_COLUMNS


def test_the_same_seed_gives_the_same_and_data_stay_as_they_are(fitted: scanmix.ScanMixClassifier) -> None:
    images, labels = make_images()
    kept = images.copy(), labels.copy()
    again = clone(fitted).set_params(random_state=np.int64(0)).fit(images, labels)
    assert np.array_equal(images, kept[0])
    assert np.array_equal(labels, kept[1])
    assert np.array_equal(again.predict_proba(images), fitted.predict_proba(images))
    loaded = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(loaded.predict_proba(images), fitted.predict_proba(images))
    # kernels differ with the number of images, which shows in the last digits
    assert loaded.predict_proba(images[:3]) == pytest.approx(fitted.predict_proba(images)[:3], abs=1e-6)


def test_issues_of_paths_and_of_images_without_a_label(tmp_path: Path) -> None:
    images, numbers = make_images(20)
    labels = np.where(numbers == 7, "dark", "red").astype(object)
    labels[3], labels[4], labels[5] = "dark", "", None
    paths = [tmp_path / f"ü {number}.png" for number in range(20)]
    for image, path in zip(images, paths, strict=True):
        Image.fromarray(image).save(path)
    paths[6].write_bytes(b"no picture")
    model = scanmix.ScanMixClassifier(**SHORT, time_budget="1s")
    issues = model.find_label_issues(paths, labels)
    assert issues.columns.tolist() == [
        "is_label_issue", "label_score", "given_label", "predicted_label", "suggested_action", "rank",
    ]  # fmt: skip
    assert issues["given_label"].tolist() == ["" if label is None else label for label in labels]
    assert issues["label_score"].isna().tolist() == [number in (4, 5, 6) for number in range(20)]
    assert model.classes_.tolist() == ["dark", "red"]
    assert model.predict([paths[0], str(paths[1])]).tolist() == model.predict(images[:2]).tolist()
    with pytest.raises(ValueError, match=r"^image 1 \(.*ü 6\.png\) cannot be read: ERROR_CORRUPT_IMAGE$"):
        model.predict(paths[5:8])


def test_cross_validation_works() -> None:
    images, labels = make_images(16)
    model = scanmix.ScanMixClassifier(**SHORT, time_budget=1)
    predicted = cross_val_predict(model, images, labels, cv=2, method="predict_proba")
    assert predicted.shape == (16, 2)


def test_grey_images_in_both_shapes(fitted: scanmix.ScanMixClassifier) -> None:
    grey = make_images()[0][..., 0]
    assert np.array_equal(fitted.predict_proba(grey), fitted.predict_proba(grey[..., None]))


def test_seeds_of_all_kinds() -> None:
    def seed(state: object) -> int:
        return scanmix.ScanMixClassifier(random_state=state)._options()["seed"]

    assert seed(5) == 5
    assert seed(np.random.RandomState(1)) == seed(np.random.RandomState(1)) != seed(np.random.RandomState(2))
    np.random.seed(3)  # noqa: NPY002 - what None means in scikit-learn
    drawn = seed(None)
    np.random.seed(3)  # noqa: NPY002
    assert seed(None) == drawn


@pytest.mark.parametrize(
    ("images", "labels", "sentence"),
    [
        (
            np.zeros((4, 8), np.float64),
            [0, 1, 0, 1],
            "X is an array of float64 with shape (4, 8); give paths of images",
        ),
        (np.zeros((4, 8, 8, 4), np.uint8), [0, 1, 0, 1], "X is an array of uint8 with shape (4, 8, 8, 4); give paths"),
        (np.zeros((0, 8, 8), np.uint8), [0, 1], "X has 0 images of shape (8, 8); give one image or more"),
        (np.zeros((4, 8, 8), np.uint8), [0, 1, 0], "X has 4 images and y 3 labels; give one label an image"),
        (np.zeros((4, 8, 8), np.uint8), [0, 0, 0, 0], "needs labels of two classes or more, but y has 1 class"),
        (np.zeros((2, 8, 8), np.uint8), [[0, 1], [1, 0]], "y has 2 dimensions; give one label an image"),
    ],
)
def test_wrong_input_is_a_value_error(images: np.ndarray, labels: list, sentence: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the sentence is compared below
        scanmix.ScanMixClassifier(**SHORT).fit(images, labels)
    assert sentence in str(error.value)


def test_unfitted_use_and_wrong_parameters() -> None:
    with pytest.raises(NotFittedError):
        scanmix.ScanMixClassifier().find_label_issues()
    with pytest.raises(SettingsError, match="unknown profile 'x'"):
        scanmix.ScanMixClassifier(profile="x").fit(*make_images(4))
    with pytest.raises(SettingsError, match="'soon' is no duration"):
        scanmix.ScanMixClassifier(time_budget="soon").fit(*make_images(4))
