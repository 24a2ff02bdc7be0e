"""Tables that cannot be used: one sentence says what, where and what to do."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from image_files import make_folder, write_table

from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError

ONE_OBJECT = (
    "{t} is one JSON object, not one for each image; "
    'write lines such as {"file_name": "a.jpg", "label": "cat"}, or a list of such objects'
)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("t.csv", b"", {}, "{t} has no rows; give a table with one row per image"),
        ("t.csv", b"file_name,label\n", {}, "{t} has no rows; give a table with one row per image"),
        ("t.jsonl", b"", {}, "{t} has no rows; give a table with one row per image"),
        (
            "t.csv",
            b"file_name,tag\na,cat\n",
            {},
            "{t} has no label column under a known name; columns found: file_name, tag; name it with --label-column",
        ),
        (
            "t.csv",
            b"where,label\na,cat\n",
            {},
            "{t} has no column of image paths under a known name; columns found: where, label; "
            "name it with --path-column",
        ),
        (
            "t.csv",
            b"1.png,cat\n2.png,dog\n",
            {},
            "{t} has no header, since its first line names an image; add the line file_name,label",
        ),
        (
            "t.csv",
            b"a,b\nx,cat\n",
            {"label_column": "c"},
            "{t} has no column 'c' (--label-column); columns found: a, b",
        ),
        (
            "t.csv",
            b"file_name,label\nx,cat\n",
            {"split_column": "part"},
            "{t} has no column 'part' (--split-column); columns found: file_name, label",
        ),
        (
            "t.csv",
            b"file_name,label\na,cat\nb,dog,big\n",
            {},
            "{t}, line 3, has 3 cells where the header has 2; "
            "quote cells that contain ',' or name the separator with --sep",
        ),
        (
            "t.csv",
            b'file_name,label\na,cat\n"b,dog\nc,dog\n',
            {},
            "{t}, line 4, is no valid row (unexpected end of data); look for a quote that is not closed",
        ),
        (
            "t.csv",
            b"file_name,label\na,\nb,\n",
            {},
            "{t} has no labelled training image; fill in the label column",
        ),
        (
            "t.csv",
            b"file_name,label\na,cat\nb,\n",
            {},
            "{t} has training images of only one class, 'cat'; add a second class",
        ),
        (
            "t.csv",
            b"file_name,label,split\na,cat,fold1\nb,dog,fold2\n",
            {},
            "{t} has no row in split 'train', only in 'fold1', 'fold2'; name another column with --split-column",
        ),
        ("t.csv", b"file_name,label\na,\x81\n", {}, "{t} is not UTF-8 text; name its encoding with --encoding"),
        (
            "t.csv",
            b"file_name,label\na,\xff\n",
            {"encoding": "utf-8"},
            "{t} is not utf-8 text (byte 18); name its encoding with --encoding",
        ),
        (
            "t.csv",
            b"file_name,label\na,cat\n",
            {"encoding": "klingon"},
            "'klingon' is no known text encoding; give --encoding a name such as utf-8 or cp1252",
        ),
        *[
            (
                "t.csv",
                b"file_name,label\na,cat\n",
                {"encoding": encoding},
                f"{{t}} is not {encoding} text; name its encoding with --encoding",
            )
            for encoding in ("punycode", "undefined")
        ],
        (
            "t.csv",
            b"file_name,label\na,cat\nb,dog\n",
            {"encoding": "utf-16"},
            "{t} has no rows when read as utf-16; leave out --encoding if the table has one row per image",
        ),
        (
            "t.csv",
            b"file_name,label\na,cat\n",
            {"sep": "::"},
            "--sep needs one character between cells, not '::'; a tab is written \\t",
        ),
        (
            "t.jsonl",
            b'{"path": 1}\n{oops\n',
            {},
            "{t}, line 2, is no valid JSON (Expecting property name enclosed in double quotes); "
            "write one object per line",
        ),
        ("t.json", b'{"a.jpg": "cat", "b.jpg": "dog"}', {}, ONE_OBJECT),
        ("t.json", b'{\n  "a.jpg": "cat",\n  "b.jpg": "dog"\n}\n', {}, ONE_OBJECT),
        ("t.json", b'{\n  "images": [{"file_name": "a.jpg"}],\n  "categories": []\n}\n', {}, ONE_OBJECT),
        ("t.jsonl", b"[1]\n", {}, "{t}, row 1, is no JSON object; write one object per line, with a path and a label"),
        (
            "t.jsonl",
            b'{"path": "a", "label": ["x", "y"]}\n',
            {},
            "{t}, row 1: column 'label' holds list where one text is needed; give one path and one label per row",
        ),
        (
            "t.doc",
            b"x",
            {},
            "{t} is neither a folder nor a table; tables end in .csv, .tsv, .txt, .jsonl, .json or .parquet",
        ),
        ("t.xlsx", b"PK", {}, "{t} is a spreadsheet; save its sheet as CSV and give that file"),
        (
            "t.csv",
            b"file_name,label\na.png,cat\nb.png,dog\n",
            {"labels": Path("x.csv")},
            "--labels goes with a folder of images, but {t} is a file; give the table alone",
        ),
    ],
)
def test_unusable_tables_are_refused_in_one_sentence(
    tmp_path: Path, name: str, content: bytes, options: dict[str, Any], message: str
) -> None:
    table = tmp_path / name
    table.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_samples(table, **options)
    assert str(caught.value) == message.replace("{t}", str(table))


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as Parquet"):
        read_samples(tmp_path / "t.parquet")


def test_parquet_whose_text_is_no_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"file_name": ["aaaa.png", "b.png"], "label": ["cat", "dog"]}).to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes().replace(b"aaaa.png", b"aaa\xff.png"))
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as Parquet \('utf-8' codec can't decode"):
        read_samples(path)


@pytest.mark.parametrize(
    "address", ["https://x.org/{}.png", "HTTP://x.org/{}", "s3://b/{}", "gs://b/{}", "file:///d/{}"]
)
@pytest.mark.parametrize("beside", [False, True])
def test_addresses_are_no_files(tmp_path: Path, address: str, beside: bool) -> None:
    first, second = address.format("a"), address.format("b")
    table = write_table(tmp_path / "t.csv", f"image,label\n{first},cat\n,cat\n{second},dog\n")
    images = make_folder(tmp_path / "images", ["a.png", "b.png"])
    with pytest.raises(DataError) as error:
        read_samples(images, labels=table) if beside else read_samples(table)
    assert str(error.value) == (
        f"{table} has addresses such as {first} in column 'image', but images must be files on this machine; download "
        "them and write their paths into the table, or name another column with --path-column"
    )
    mixed = write_table(tmp_path / "mixed.csv", f"image,label\n{first},cat\na.png,cat\nb.png,dog\n")
    samples = read_samples(mixed)
    assert len(samples.table) == 3, "one of them is a missing file among others"
    assert (
        f"1 row of {mixed} names an address such as {first} instead of a file; nothing is downloaded, "
        "so these images count as missing"
    ) in samples.warnings
