"""Which rows only measure accuracy by the folder that their image lies in, though a table names them."""

import os
from pathlib import Path

from scanmix_cli.data.folders import split_folders
from scanmix_cli.data.listing import list_images, sub_folders
from scanmix_cli.data.rows import Rows, is_known_split, is_train_name
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.wording import shown


def true_places(paths: list[str]) -> list[str]:
    """Where each file lies by the true names of its folders, so that two ways to one file are one; "" stays ""."""
    folders: dict[str, str] = {}
    places = []
    for path in paths:
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = folder if "\0" in folder else os.path.realpath(folder)
        places.append(os.path.join(folders[folder], name) if path else "")
    return places


def places_of_images(folder: Path) -> list[str]:
    """Where the images of a folder lie, as `true_places`."""
    return true_places([f"{folder.absolute()}/{name}" for name in list_images(folder)[0]])


def rows_inside(rows: Rows, folder: Path) -> list[int]:
    """The rows whose image lies in `folder`, at any depth."""
    inside = os.path.join(os.path.realpath(folder), "")
    return [row for row, place in enumerate(true_places(rows.paths)) if place.startswith(inside)]


def hold_out(rows: Rows, held: list[int], split: str) -> None:
    """Give those of the rows that are training rows the name of a held-out split."""
    for row in held:
        if rows.splits[row] == TRAIN:
            rows.splits[row] = split


def hold_out_folder(parts: list[Rows], folder: Path, split: str) -> dict[str, str]:
    """Hold out all rows whose image lies in `folder`: place and label of each."""
    named: dict[str, str] = {}
    for rows in parts:
        held = rows_inside(rows, folder)
        hold_out(rows, held, split)
        places = true_places([rows.paths[row] for row in held])
        named.update(zip(places, (rows.labels[row] for row in held), strict=True))
    return named


def hold_out_images(parts: list[Rows], test: Rows, split: str, source: Path) -> Rows:
    """Hold out all rows whose image has a row of `test`, with the label that it has there, and say where it is another
    one; the other rows of `test`."""
    tested = dict(zip(true_places(test.paths), test.labels, strict=True))
    tested.pop("", None)
    named: set[str] = set()
    unlike: list[str] = []
    for rows in parts:
        places = true_places(rows.paths)
        held = [row for row, place in enumerate(places) if place in tested]
        hold_out(rows, held, split)
        for row in held:
            label = tested[places[row]]
            if label not in ("", rows.labels[row]):
                unlike.append(rows.filenames[row])
                rows.labels[row] = label
        named.update(places[row] for row in held)
    others = test.only([row for row, place in enumerate(true_places(test.paths)) if place not in named])
    others.classes = test.classes
    if unlike:
        others.warnings.append(
            f"Held-out images under another label in DATA than in {source}: {len(unlike)}, "
            f"such as {shown(unlike[0])}; that of {source.name} counts."
        )
    return others


def other_rows(rows: Rows, named: dict[str, str], classes: set[str], source: Path) -> Rows:
    """The rows at other places than those `named`, which have rows already; other labels of `classes` are said."""
    places = true_places(rows.paths)
    unlike = [
        name
        for name, place, label in zip(rows.filenames, places, rows.labels, strict=True)
        if label in classes and named.get(place, label) != label
    ]
    rows = rows.only([row for row, place in enumerate(places) if place not in named])
    if unlike:
        rows.warnings.append(
            f"Held-out images under another label in the table than in {source}: {len(unlike)}, "
            f"such as {shown(unlike[0])}; the table's counts."
        )
    return rows


def hold_out_splits(parts: list[Rows], folder: Path, images: list[str], leave_out: Path | None) -> None:
    """Hold out what lies in `val/` and `test/` beside a `train/`; where there is none, say what is trained on.

    `images` are those of `folder` but for the folder `leave_out`, which is read on its own.
    """
    folders = sub_folders(folder, leave_out)
    splits = split_folders(folders, images)
    for name in folders:
        if not is_known_split(name) or is_train_name(name):
            continue
        inside = [rows_inside(rows, folder / name) for rows in parts]
        if splits:
            for rows, held in zip(parts, inside, strict=True):
                hold_out(rows, held, name)
        elif any(inside):
            parts[0].warnings.append(
                f"Images in folder '{shown(name)}' are trained on, since no train folder lies beside it; "
                "hold them out with --test or a column of splits."
            )
