"""What the option parser has to say, as one sentence like every other error."""

import re
from collections.abc import Collection, Sequence

import typer

# the parser's base class of usage errors, which typer does not export
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]


def usage_sentence(message: str, arguments: Sequence[str], commands: Collection[str]) -> str:
    """The parser's message in one line, with the command whose help tells more: that of `arguments` if it is known."""
    told = re.sub(r"\.? (Did you mean .*\?)$", r" (\1)", " ".join(message.split())).rstrip(".")
    named = next((argument for argument in arguments if not argument.startswith("-")), "")
    command = f"scanmix {named}" if named in commands else "scanmix"
    return f"{told[:1].lower()}{told[1:]}; see `{command} --help`"
