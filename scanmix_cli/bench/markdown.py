"""`results.md`: our rows beside the published ones, for people."""

from typing import Any

NOTHING = "-"


def results_markdown(cells: list[dict[str, Any]]) -> str:
    """All cells, a table for each data set and noise."""
    parts = ["# scanmix bench\n"]
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault((cell["dataset"], cell["noise"], cell["rate"], cell["recipe"]), []).append(cell)
    for group, members in groups.items():
        parts.append(_group(members, *group))
    return "\n".join(parts)


def _group(cells: list[dict[str, Any]], dataset: str, noise: str, rate: float | None, recipe: str) -> str:
    first = cells[0]
    title = " ".join(part for part in (dataset, noise, "" if rate is None else f"{rate:g}", recipe) if part)
    lines = [f"## {title}", "", f"images: {first['images']}", ""]
    lines.append("| method | seed | best | last | recovery | AUROC | F1 | labels right | minutes |")
    lines.append("| --- " * 9 + "|")
    lines += [
        f"| {cell['method']} | {cell['seed']} | {percent(cell['best'])} | {percent(cell['last'])} "
        f"| {decimal(cell.get('recovery'))} | {decimal(cell.get('auroc'))} | {decimal(cell.get('f1'))} "
        f"| {percent(cell.get('share_right'))} | {cell['minutes']:.1f} |"
        for cell in cells
    ]
    return "\n".join(lines) + "\n"


def percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.2f}"


def decimal(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
