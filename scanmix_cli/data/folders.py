"""A folder as input: one sub-folder per class, with or without `train/`, `val/`, `test/` above them."""

from collections import Counter
from pathlib import Path

from scanmix_cli.data.listing import list_images, sub_folders
from scanmix_cli.data.rows import Rows, is_known_split, is_train_name
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.wording import counted, shown
from scanmix_cli.errors import DataError


def read_folder(folder: Path, leave_out: Path | None = None) -> Rows:
    """Rows of a class folder tree, sorted by path; raises DataError for an empty or a flat folder.

    `leave_out` is a folder inside it that holds no classes of it, such as the one of `--test`.
    """
    images, ignored = list_images(folder, leave_out)
    if not images:
        raise DataError(
            f"{folder} holds no images; "
            f"give a folder with one sub-folder per class or a table of image paths and labels"
        )
    folders = sub_folders(folder, leave_out)
    splits = _split_folders(folder, folders, {name.split("/", 1)[0] for name in images if "/" in name})
    rows = Rows(folder, [], [], [], [], classes=set(), ignored=ignored)
    loose, elsewhere = [], []
    for name in images:
        parts = name.split("/")
        if splits and parts[0] not in splits:
            elsewhere.append(name)
        elif len(parts) < (3 if splits else 2):
            loose.append(name)
        else:
            rows.filenames.append(name)
            rows.splits.append(_split_name(parts[0]) if splits else TRAIN)
            rows.labels.append(parts[1] if splits else parts[0])
    if TRAIN not in rows.splits:
        raise _without_classes(folder, splits, loose)
    rows.paths = [f"{folder.absolute()}/{name}" for name in rows.filenames]
    rows.classes = {name for split in splits for name in sub_folders(folder / split)} if splits else set(folders)
    outside = {"images outside the class folders": len(loose), "images outside the split folders": len(elsewhere)}
    rows.ignored += Counter(outside)
    rows.warnings = _left_out(loose, "not in a class folder") + _left_out(elsewhere, "not in a split folder")
    if not splits:
        rows.warnings += [
            f"Folder '{shown(name)}' is taken for a class, not for a split." for name in _known_splits(folders)
        ]
    return rows


def has_classes(folder: Path) -> bool:
    """Whether some image lies in a sub-folder, so that folder names can serve as labels."""
    return any("/" in name for name in list_images(folder)[0])


def _split_folders(folder: Path, folders: list[str], with_images: set[str]) -> list[str]:
    """Names of the split folders, [] where the sub-folders are classes.

    A class may be called `train`: it is a split only next to a held-out split or as the only folder with images.
    """
    known = _known_splits(folders)
    train = [name for name in known if is_train_name(name)]
    if train and (len(known) > len(train) or with_images <= set(train)):
        return known
    if known and not train and with_images <= set(known):
        raise DataError(
            f"{folder} holds {', '.join(known)} but no train folder; name the folder of training images 'train' "
            f"or give the class folders themselves"
        )
    return []


def _known_splits(folders: list[str]) -> list[str]:
    return [name for name in folders if is_known_split(name)]


def _split_name(folder_name: str) -> str:
    return TRAIN if is_train_name(folder_name) else folder_name


def _without_classes(folder: Path, splits: list[str], loose: list[str]) -> DataError:
    """The error for a folder that has no training image in a class folder."""
    train = next((split for split in splits if is_train_name(split)), None)
    place = folder / train if train else folder
    found = [name for name in loose if train is None or name.startswith(f"{train}/")]
    if not found:
        return DataError(f"{place} holds no images; give it a sub-folder of images for each class")
    return DataError(
        f"{place} holds {counted(len(found), 'image')} but no class sub-folders; "
        f"put each class into a sub-folder of its own or give the labels with --labels TABLE"
    )


def _left_out(names: list[str], reason: str) -> list[str]:
    if not names:
        return []
    return [f"Left out, since {reason}: {counted(len(names), 'image')}, such as {shown(names[0])}."]
