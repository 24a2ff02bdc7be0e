"""CVAT: images and an annotation file of the format "CVAT for images 1.1" with one tag an image."""

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from scanmix_cli.evidence.verdicts import RELABEL
from scanmix_cli.export.coco import image_size
from scanmix_cli.export.content import Content, xml_text
from scanmix_cli.files import write_text

ANNOTATIONS = "annotations.xml"


def write(folder: Path, content: Content) -> None:
    """annotations.xml: make a task from images/ with these labels, then upload it; a suggested label is marked auto."""
    labels = "".join(
        f"<label><name>{escape(xml_text(name))}</name><type>tag</type></label>" for name in content.classes
    )
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        "<annotations>",
        "  <version>1.1</version>",
        f"  <meta><task><name>{escape(xml_text(content.run))}</name><labels>{labels}</labels></task></meta>",
    ]
    for number, (item, path) in enumerate(content.pairs()):
        width, height = image_size(folder / path)
        name = quoteattr(xml_text(path.rsplit("/", 1)[-1]))
        lines.append(f'  <image id="{number}" name={name} width="{width}" height="{height}">')
        if item.label:
            source = "auto" if item.suggested_action == RELABEL else "manual"
            lines.append(f'    <tag label={quoteattr(xml_text(item.label))} source="{source}"></tag>')
        lines.append("  </image>")
    write_text(folder / ANNOTATIONS, "\n".join([*lines, "</annotations>"]) + "\n")
