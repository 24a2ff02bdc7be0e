"""Label Studio: tasks whose suggestion waits as a prediction, and the labelling interface for them."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from scanmix_cli.export.content import Content, xml_text
from scanmix_cli.export.items import Item
from scanmix_cli.files import write_text

TASKS, INTERFACE = "tasks.json", "interface.xml"
FROM, TO = "label", "image"
ADDRESS = "/data/local-files/?d="  # files below Label Studio's LOCAL_FILES_DOCUMENT_ROOT, which is the export's folder


def write(folder: Path, content: Content) -> None:
    """tasks.json and interface.xml; a task carries row and filename of the run, so that results find their way back."""
    tasks = [_task(number, item, path, content.run) for number, (item, path) in enumerate(content.pairs(), start=1)]
    write_text(folder / TASKS, json.dumps(tasks, indent=1) + "\n")
    choices = "".join(f"    <Choice value={quoteattr(xml_text(name))}/>\n" for name in content.classes)
    write_text(
        folder / INTERFACE,
        f'<View>\n  <Image name="{TO}" value="${TO}"/>\n'
        f'  <Choices name="{FROM}" toName="{TO}" choice="single" showInLine="true">\n{choices}  </Choices>\n</View>\n',
    )


def _task(number: int, item: Item, path: str, run: str) -> dict[str, Any]:
    suggestion = item.label or item.suggested_label or item.predicted_label
    result = {
        "id": f"scanmix-{number}",
        "type": "choices",
        "from_name": FROM,
        "to_name": TO,
        "value": {"choices": [suggestion]},
    }
    prediction: dict[str, Any] = {"model_version": f"scanmix {run}", "result": [result]}
    if item.confidence is not None:
        prediction["score"] = item.confidence
    return {
        "id": number,
        "data": {
            TO: ADDRESS + quote(path),
            "row": item.row,
            "filename": item.filename,
            "given_label": item.given_label,
            "suggested_action": item.suggested_action,
            "p_mislabeled": item.p_mislabeled,
        },
        "predictions": [prediction] if suggestion else [],
    }
