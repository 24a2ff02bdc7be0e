"""The layouts: what each of them writes beside the pictures, and where it wants those."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scanmix_cli.errors import SettingsError
from scanmix_cli.export import cleanlab, coco, cvat, embeddings, fiftyone, huggingface, labelstudio, tables
from scanmix_cli.export.content import Content
from scanmix_cli.export.items import Item
from scanmix_cli.export.names import DATA, TOGETHER, UNLABELLED, class_folders


@dataclass(frozen=True)
class Folders:
    """Names of folders by split and by label."""

    splits: dict[str, str]
    labels: dict[str, str]


def folders_for(items: Sequence[Item], classes: Sequence[str]) -> Folders:
    """The folders of an export of `items`, whose labels are among `classes`."""
    return Folders(class_folders(item.split for item in items), class_folders(classes))


def by_class(item: Item, folders: Folders) -> str:
    """train/cat for torchvision's ImageFolder; images without a label lie beside the splits, where no loader looks."""
    return f"{folders.splits[item.split]}/{folders.labels[item.label]}" if item.label else UNLABELLED


def by_split(item: Item, folders: Folders) -> str:
    return folders.splits[item.split]


def together(item: Item, folders: Folders) -> str:
    return TOGETHER


def as_data(item: Item, folders: Folders) -> str:
    return DATA


@dataclass(frozen=True)
class Format:
    """How one layout is made. `networks`: what of the classifier's outputs it holds, "" for none of them."""

    folder_of: Callable[[Item, Folders], str] | None  # None: no pictures
    write: Callable[[Path, Content], None]
    only: str = "keep"  # rows when the user does not choose
    networks: str = ""
    labelled: bool = False  # training rows with a given label only


FORMATS = {
    "imagefolder": Format(by_class, tables.nothing_more),
    "csv": Format(together, tables.write_labels),
    "hf": Format(by_split, huggingface.write),
    "coco": Format(together, coco.write),
    "fiftyone": Format(as_data, fiftyone.write, only="all"),
    "labelstudio": Format(together, labelstudio.write, only="all"),
    "cvat": Format(together, cvat.write, only="all"),
    "cleanlab": Format(None, cleanlab.write, only="all", networks="probabilities", labelled=True),
    "embeddings": Format(None, embeddings.write, only="all", networks="features"),
}


def format_named(name: str) -> Format:
    """SettingsError listing the known ones for any other name."""
    if name not in FORMATS:
        raise SettingsError(f"--to {name!r} is unknown; choose one of {', '.join(FORMATS)}, onnx")
    return FORMATS[name]


def suited(items: Sequence[Item], layout: Format) -> list[Item]:
    """The items that the layout can hold."""
    return [item for item in items if not layout.labelled or (item.given_label and item.split == "train")]
