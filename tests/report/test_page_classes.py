"""What the page says of classes: bars, noise matrix, mix-ups, quality."""

import html
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from page_run import CLASSES, make_page_run
from test_page import page


def test_a_matrix_of_many_classes_gives_way_to_the_mix_ups(tmp_path: Path) -> None:
    run = make_page_run()
    classes = [f"class {k:02}" for k in range(40)]
    matrix = np.eye(40)
    matrix[3, [3, 7]] = 0.75, 0.25
    labels = dict(zip(CLASSES, classes, strict=False))
    named = run.report.replace({"given_label": labels, "suggested_label": labels, "predicted_label": labels})
    pair = {"true": "class 03", "given": "class 07", "share": 0.25, "low": 0.2, "high": 0.3, "images": 5.0}
    summary = run.summary | {"classes": classes, "confusions": [pair]}
    text = page(tmp_path, replace(run, report=named, summary=summary, noise_matrix=matrix))
    assert "true \\ given" not in text
    assert re.search(
        r'class 03</bdi> <span .*?</span>\s<bdi title="class 07">class 07</bdi> <span class="share">25.0', text
    )
    assert "The 30 classes with the most suspects of 40" in text
    fine = named.assign(is_label_issue=named["is_label_issue"].where(named["is_label_issue"].isna(), False))
    none = summary | {"counts": summary["counts"] | {"label_issues": 0}}
    text = page(tmp_path, replace(run, report=fine, summary=none, noise_matrix=matrix))
    assert "No class has a suspect; 30 of 40 are shown" in text
    assert "most suspects" not in text


def test_mix_ups_are_those_of_the_summary_with_their_intervals(tmp_path: Path) -> None:
    run = make_page_run()
    known = [
        {"true": CLASSES[t], "given": CLASSES[g], "share": share, "low": low, "high": high, "images": 3.0}
        for t, g, share, low, high in ((0, 2, 0.25, 0.125, 0.5), (1, 2, 0.5, 0.3, 0.7), (2, 1, 0.0002, 0.0001, 0.001))
    ]
    text = page(tmp_path, replace(run, summary=run.summary | {"confusions": known}))
    mix_ups = re.findall(r'<span class="share">(.*?)</li>', text, re.DOTALL)
    words = [html.unescape(re.sub(r"<.*?>", " ", one)).replace("\xa0", "").split() for one in mix_ups]
    assert words == [
        ["25.0%", "12.5%", "to", "50.0%"],
        ["50.0%", "30.0%", "to", "70.0%"],
        ["<0.1%", "0.0%", "to", "0.1%"],
    ]
    listed = re.search(r'<ul class="mixups">(.*?)</ul>', text, re.DOTALL)
    assert listed is not None
    names = [html.unescape(name) for name in re.findall(r"<bdi title=.*?>(.*?)</bdi>", listed[1])]
    assert names == [CLASSES[k] for k in (0, 2, 1, 2, 2, 1)]


def test_a_class_that_no_label_names_has_no_noise(tmp_path: Path) -> None:
    run = make_page_run()
    summary = run.summary | {"classes": [*CLASSES, "unicorn"]}
    matrix = np.zeros((5, 5))
    matrix[:4, :4] = run.noise_matrix
    for row in (np.eye(5)[4], np.array([0.3, 0.3, 0.2, 0.2, 0.0])):  # now, and as runs were written before
        matrix[4] = row
        text = page(tmp_path, replace(run, summary=summary, noise_matrix=matrix))
        found = re.search(r'<bdi title="unicorn">unicorn</bdi></th>\s(<td title.*?)</tr>', text, re.DOTALL)
        assert found is not None
        assert re.sub(r"(?s)<.*?>", " ", found[1]).split() == ["·"] * 5
        assert "--heat" not in found[1]
        assert found[1].count("unicorn&#x2069;, no image has this label") == 5
        bar = re.search(r'unicorn</bdi></th>\s<td class="track">.*?</tr>', text, re.DOTALL)
        assert bar is not None
        assert re.sub(r"(?s)<.*?>", " ", bar[0]).split()[1:] == ["0", "of", "0"]


def test_classes_are_shown_by_their_quality_the_hardest_first(tmp_path: Path) -> None:
    run = make_page_run()
    text = page(tmp_path, run)
    table = re.search(r'<table class="plain quality">(.*?)</table>', text, re.DOTALL)
    assert table is not None
    rows = [re.sub(r"<.*?>", " ", row).replace("&nbsp;", "").split() for row in table[1].split("</tr>")[1:-1]]
    assert [row[-3:] for row in rows] == [
        ["71.2%", "86.0%", "12.5%"],
        ["77.5%", "84.0%", "15.0%"],
        ["83.8%", "82.0%", "17.5%"],
        ["90.0%", "80.0%", "20.0%"],
    ]
    assert (rows[0][0], rows[1][:2]) == (CLASSES[3], CLASSES[2].split())
    empty = [one | {"images": 0} for one in run.summary["class_quality"][:1]] + run.summary["class_quality"][1:]
    text = page(tmp_path, replace(run, summary=run.summary | {"class_quality": empty}))
    assert text.count("<td>90.0&nbsp;%</td>") == 0, "a class that no label names has no quality"
    assert "All are estimates; 3 of 4 classes are shown." in re.sub(r"\s+", " ", text)
    text = page(tmp_path, replace(run, summary=run.summary | {"class_quality": []}))
    assert "Hardest classes" not in text
    assert "Commonest mix-ups" in text
