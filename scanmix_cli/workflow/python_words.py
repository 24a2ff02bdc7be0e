"""What the command's sentences say to a Python program: its options go by the names of the arguments."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from scanmix_cli.errors import ScanmixError
from scanmix_cli.files import refused_file

COMMAND_ONLY = ("resume", "config")  # options of `scanmix train` that no function has
SWITCHES = ("overwrite",)  # options without a value
_COMMAND = r"`scanmix [^`]*`"  # stays as it is: the command is there as well
_VALUE = r"(?P<value>all|none|auto|cpu|fp32|resnet50|\d+)\b(?: or (?P<other>auto|cpu)\b)?"
_OPTION = rf"`?(?<![\w./-])--(?P<name>[a-z]+(?:-[a-z]+)*)(?: {_VALUE})?`?"
_EITHER = re.compile(f"{_COMMAND}|{_OPTION}")


@contextmanager
def python_words() -> Iterator[None]:
    """A ScanmixError that leaves this block, or a function that this decorates, is worded by `in_python`; a file that
    the system refuses is one."""
    try:
        yield
    except ScanmixError as error:
        error.args = (in_python(str(error)),)
        raise
    except OSError as error:
        if told := refused_file(error):
            raise told from error
        raise


def in_python(sentence: str) -> str:
    """The sentence with arguments in the place of options: "another --out" as "another `out`"."""
    return _EITHER.sub(_argument, sentence)


def _argument(found: re.Match[str]) -> str:
    option, value = found["name"], found["value"]
    if option is None:
        return found[0]
    if option in COMMAND_ONLY:
        return f"`scanmix train --{option}`"
    name = option.replace("-", "_")
    if option in SWITCHES:
        return f"`{name}=True`"
    if value is None:
        return f"`{name}`"
    first = f"`{name}={value if value.isdigit() else repr(value)}`"
    return f"{first} or `{found['other']!r}`" if found["other"] else first
