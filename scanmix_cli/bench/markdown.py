"""`results.md`: our rows beside the published ones, for people."""

from collections.abc import Iterable, Sequence
from typing import Any

from scanmix_cli.bench.compare import comparable, comparisons, spreads
from scanmix_cli.bench.published import PublishedRow, rows_for

NOTHING = "-"
READING = """# scanmix bench

Accuracy in percent: `last` is the mean of the final 10 epochs and the figure to quote, `best` is chosen on the test set
and stands here for comparison with tables; both are of all networks of a method together, `single` is one network.
`recovery` is last over the last of cross-entropy on the clean labels with the same images and budget.
A time budget holds for each method, after the pre-training that methods share; minutes count that pre-training in.
Where a CPU cannot see all images once in that time, an epoch is a random part of them (`images an epoch`).
F1, precision and recall are at the reported cut. `labels right` is the share after every flagged label was replaced;
`rate error` is the estimated noise rate minus the realised one; images per second are training images of all epochs
over the seconds of those epochs. Published rows were measured on the canonical images with the papers' own budgets.
"""


def results_markdown(cells: Sequence[dict[str, Any]]) -> str:
    """All cells, a section for each data set, noise and budget."""
    return "\n".join([READING, *(_section(group) for group in comparable(cells))])


def percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.2f}"


def decimal(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join(lines) + "\n"


def _section(cells: list[dict[str, Any]]) -> str:
    first = cells[0]
    published = rows_for(first["dataset"], first["noise"], first["rate"])
    parts = [_heading(cells), _accuracy(cells, published)]
    if any(cell.get("f1") is not None for cell in cells):
        parts.append(_detection(cells, published))
    parts.append(_costs(cells))
    if any(cell["seed"] != first["seed"] for cell in cells):
        parts.append(_repeats(cells))
    commands = dict.fromkeys(cell["command"] for cell in cells)
    parts.append("Commands:\n\n```\n" + "\n".join(commands) + "\n```\n")
    return "\n".join(parts)


def _heading(cells: list[dict[str, Any]]) -> str:
    """What all cells share, and the labels of every seed."""
    first = cells[0]
    rate = NOTHING if first["rate"] is None else f"{first['rate']:g}"
    words = [word for word in (first["dataset"], first["noise"], rate) if word != NOTHING]
    budget = f"{first['time_budget']:g} s a method" if first["time_budget"] else "no time budget"
    facts = [
        f"images: {first['images']}; data fingerprint {first['fingerprint']}",
        f"profile {first['profile']}, {first['backbone']}, {budget}",
        *dict.fromkeys(_labels(cell) for cell in cells),
    ]
    return f"## {' '.join(words)}\n\n" + "".join(f"- {fact}\n" for fact in facts)


def _labels(cell: dict[str, Any]) -> str:
    nominal = NOTHING if cell["rate"] is None else f"{cell['rate']:g}"
    realised = NOTHING if cell["realised_rate"] is None else f"{cell['realised_rate']:.4f}"
    recipe = f", recipe {cell['recipe']}" if cell["recipe"] else ""
    return (
        f"nominal noise rate {nominal}, realised {realised}{recipe}: labels {cell['label_file']} "
        f"(hash {cell['label_hash']})"
    )


def _accuracy(cells: list[dict[str, Any]], published: list[PublishedRow]) -> str:
    header = ("method", "seed", "best", "last", "best, single", "last, single", "recovery", "from")
    rows = []
    for cell in cells:
        figures = [percent(cell[name]) for name in ("best", "last", "best_single", "last_single")]
        rows.append((cell["method"], str(cell["seed"]), *figures, decimal(cell.get("recovery")), "this run"))
        rows += _further_tests(cell)
    for row in published:
        if row.best is not None:
            note = ", ".join(part for part in (row.test, "top-5" if row.metric == "top5" else "") if part)
            figures = [str(row.best), NOTHING if row.last is None else str(row.last), *[NOTHING] * 3]
            rows.append((row.method + (f" ({note})" if note else ""), NOTHING, *figures, row.source))
    return table(header, rows)


def _further_tests(cell: dict[str, Any]) -> list[tuple[str, ...]]:
    """Final accuracies on further test parts and top-5, of all networks together."""
    final = {} if cell["top5"] is None else {"top-5": cell["top5"]}
    for name, tops in (cell["extra_tests"] or {}).items():
        final |= {name: tops["top1"], f"{name}, top-5": tops["top5"]}
    return [
        (f"{cell['method']} ({name}, final)", str(cell["seed"]), NOTHING, percent(value), *[NOTHING] * 3, "this run")
        for name, value in final.items()
    ]


def _detection(cells: list[dict[str, Any]], published: list[PublishedRow]) -> str:
    """Methods first, then the trivial baselines on the labels of every seed, then what was published."""
    header = (
        *("finding the errors", "seed", "AUROC", "AP", "best F1", "F1", "precision", "recall", "recall of clean"),
        *("labels right", "rate error", "calibration error"),
    )
    names = ("auroc", "ap", "best_f1", "f1", "precision", "recall", "clean_recall")
    judged = [cell for cell in cells if cell.get("f1") is not None]
    rows = [
        [
            *(cell["method"], str(cell["seed"]), *(decimal(cell[name]) for name in names)),
            *(percent(cell["share_right"]), decimal(cell["noise_rate_error"]), decimal(cell["calibration_error"])),
        ]
        for cell in judged
    ]
    seeds = {str(cell["seed"]): cell for cell in judged}
    rows += [_padded("flag every label", seed, f1=cell["flag_all_f1"]) for seed, cell in seeds.items()]
    rows += [_padded("random order", seed, auroc=0.5, ap=cell["random_ap"]) for seed, cell in seeds.items()]
    rows += [
        _padded(f"{row.method} ({row.source})", NOTHING, row.auroc, None, row.best_f1, row.f1)
        for row in published
        if row.best is None
    ]
    return table(header, rows)


def _padded(
    name: str,
    seed: str,
    auroc: float | None = None,
    ap: float | None = None,
    best_f1: float | None = None,
    f1: float | None = None,
) -> list[str]:
    return [name, seed, decimal(auroc), decimal(ap), decimal(best_f1), decimal(f1), *[NOTHING] * 6]


def _costs(cells: list[dict[str, Any]]) -> str:
    header = (
        *("cost", "seed", "minutes", "seconds a stage", "images an epoch", "images/s", "peak memory, MiB"),
        *("device", "date"),
    )
    rows = [
        (
            *(cell["method"], str(cell["seed"]), f"{cell['minutes']:.2f}"),
            ", ".join(f"{stage} {seconds:.0f}" for stage, seconds in cell["seconds"].items()),
            str(cell.get("images_an_epoch", cell["train_images"])),
            NOTHING if cell["images_per_second"] is None else f"{cell['images_per_second']:.0f}",
            *(str(cell["peak_memory_mib"]), cell["device"], cell["date"]),
        )
        for cell in cells
    ]
    return table(header, rows)


def _repeats(cells: list[dict[str, Any]]) -> str:
    show = {"last": percent, "auroc": decimal}
    means = table(
        ("over seeds", "measure", "seeds", "mean", "standard deviation"),
        (
            (s.method, s.measure, str(s.seeds), show[s.measure](s.mean), show[s.measure](s.deviation))
            for s in spreads(cells)
        ),
    )
    pairs = comparisons(cells)
    if not pairs:
        return means
    tests = table(
        ("paired by seed", "measure", "seeds", "mean difference", "p, t-test", "p, Wilcoxon"),
        (
            (
                *(f"{c.first} - {c.second}", c.measure, str(c.seeds), show[c.measure](c.difference)),
                *(decimal(c.p_t), decimal(c.p_wilcoxon)),
            )
            for c in pairs
        ),
    )
    return means + "\n" + tests
