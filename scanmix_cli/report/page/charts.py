"""The plots as inline SVG that follows the page's colours and fonts."""

import re
from typing import Any

from scanmix_cli.report.page.run_data import RunData
from scanmix_cli.report.plots import Palette, learning_curves, loss_histogram, svg_bytes

# Colours that nothing else uses stand for the page's variables while matplotlib draws.
_TOKENS = {
    "#010203": "var(--ink)",
    "#010204": "var(--soft)",
    "#010205": "var(--line)",
    "#010206": "var(--fine)",
    "#010207": "var(--accent)",
}
THEMED = Palette(*_TOKENS)


def charts(run: RunData) -> dict[str, str]:
    """SVG elements by name; a chart without data is missing."""
    figures = {"losses": loss_histogram(run, THEMED), "learning_curves": learning_curves(run, THEMED)}
    return {name: inline_svg(figure, name) for name, figure in figures.items() if figure is not None}


def inline_svg(figure: Any, name: str) -> str:
    """The figure as one <svg> element whose colours and fonts are the page's."""
    text = svg_bytes(figure, name).decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.S)
    text = re.sub(r'\s(xmlns(:\w+)?|width|height|version)="[^"]*"', "", text, count=5)
    text = text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r'xlink:href="#', f'href="#{name}-', text)
    text = re.sub(r"(font: [^;]*?px |font-family: )[^;]*", r"\1var(--font)", text)  # matplotlib writes one or the other
    for token, variable in _TOKENS.items():
        text = text.replace(token, variable)
    return text
