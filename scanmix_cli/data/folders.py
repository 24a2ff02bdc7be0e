"""A folder as input: one sub-folder per class, with or without `train/`, `val/`, `test/` above them."""

from pathlib import Path

from scanmix_cli.data.listing import list_images, sub_folders
from scanmix_cli.data.rows import Rows, is_known_split, is_train_name
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.wording import counted, shown
from scanmix_cli.errors import DataError

LABELS_ELSEWHERE = "give the labels with --labels TABLE"


def read_folder(folder: Path, leave_out: Path | None = None, advice: str = LABELS_ELSEWHERE) -> Rows:
    """Rows of a class folder tree, sorted by path; raises DataError for an empty or a flat folder.

    `leave_out` is a folder inside it that holds no classes of it, such as the one of `--test`; `advice` is what helps
    where there are no class folders.
    """
    images, ignored = list_images(folder, leave_out)
    if not images:
        raise DataError(
            f"{folder} holds no images; "
            f"give a folder with one sub-folder per class or a table of image paths and labels"
        )
    folders = sub_folders(folder, leave_out)
    splits = split_folders(folders, images)
    if not splits:
        _require_train(folder, folders, images)
    rows = class_rows(folder, images, splits)
    rows.ignored += ignored
    rows.classes = class_names(folder, splits) if splits else set(folders)
    if TRAIN not in rows.splits:
        raise without_classes(folder, splits, images, advice)
    if not splits:
        rows.warnings += [
            f"Folder '{shown(name)}' is taken for a class, not for a split." for name in folders if is_known_split(name)
        ]
    return rows


def class_rows(folder: Path, images: list[str], splits: list[str]) -> Rows:
    """Rows of images by their class folders, below the split folders if there are any; others are left out and said."""
    rows = Rows(folder, [], [], [], [], classes=set())
    loose, elsewhere = [], []
    for name in images:
        parts = name.split("/")
        if splits and parts[0] not in splits:
            elsewhere.append(name)
        elif len(parts) < (3 if splits else 2):
            loose.append(name)
        else:
            rows.filenames.append(name)
            rows.splits.append(split_name(parts[0]) if splits else TRAIN)
            rows.labels.append(parts[1] if splits else parts[0])
    rows.paths = [f"{folder.absolute()}/{name}" for name in rows.filenames]
    rows.leave_out(loose, "not in a class folder", "images outside the class folders")
    rows.leave_out(elsewhere, "not in a split folder", "images outside the split folders")
    return rows


def class_names(folder: Path, splits: list[str]) -> set[str]:
    """The classes of split folders, empty ones too."""
    return {name for split in splits for name in sub_folders(folder / split)}


def has_classes(folder: Path) -> bool:
    """Whether some image lies in a sub-folder, so that folder names can serve as labels."""
    return any("/" in name for name in list_images(folder)[0])


def split_folders(folders: list[str], images: list[str]) -> list[str]:
    """Those of the sub-folders that are splits, [] where all are classes.

    A class may be called `train`: it is a split only next to a held-out split or as the only folder with images.
    """
    known = [name for name in folders if is_known_split(name)]
    train = {name for name in known if is_train_name(name)}
    return known if train and (len(known) > len(train) or _with_images(images) <= train) else []


def split_name(folder_name: str) -> str:
    """What the rows of a split folder have as their split."""
    return TRAIN if is_train_name(folder_name) else folder_name


def _with_images(images: list[str]) -> set[str]:
    return {name.split("/", 1)[0] for name in images if "/" in name}


def _require_train(folder: Path, folders: list[str], images: list[str]) -> None:
    """DataError where all images lie in held-out splits."""
    known = [name for name in folders if is_known_split(name)]
    if known and _with_images(images) <= set(known):
        raise DataError(
            f"{folder} holds {', '.join(known)} but no train folder; name the folder of training images 'train' "
            f"or give the class folders themselves"
        )


def without_classes(folder: Path, splits: list[str], images: list[str], advice: str = LABELS_ELSEWHERE) -> DataError:
    """The error for a folder that has no training image in a class folder."""
    train = next((split for split in splits if is_train_name(split)), None)
    place = folder / train if train else folder
    loose = [name for name in images if train is None or name.startswith(f"{train}/")]
    if not loose:
        return DataError(f"{place} holds no images; give it a sub-folder of images for each class")
    return DataError(
        f"{place} holds {counted(len(loose), 'image')} but no class sub-folders; "
        f"put each class into a sub-folder of its own or {advice}"
    )
