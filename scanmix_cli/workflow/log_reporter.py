"""Progress for programs: through `logging`, so that nothing is seen unless the program asks for it."""

import logging

from scanmix_cli.engine.progress import Silent, describe, headlines
from scanmix_cli.workflow.python_words import in_python

LOGGER = logging.getLogger("scanmix_cli")
LOGGER.addHandler(logging.NullHandler())  # without a handler Python would print warnings of a library itself


class LogReporter(Silent):
    """Stages and messages at level INFO, every epoch at DEBUG, on the logger `scanmix_cli`."""

    def stage(self, name: str, total: int) -> None:
        LOGGER.info("%s starts, %d epochs", name, total)

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        LOGGER.debug("%s %d/%d %s", name, finished, total, describe(values))
        if finished == total:
            LOGGER.info("%s done %s", name, headlines(values))

    def message(self, text: str) -> None:
        level = logging.WARNING if text.startswith("warning: ") else logging.INFO
        LOGGER.log(level, "%s", in_python(text.removeprefix("warning: ")))
