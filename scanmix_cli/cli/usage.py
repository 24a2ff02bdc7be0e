"""What the option parser has to say, as one sentence like every other error."""

import re
from collections.abc import Collection, Sequence

import typer

# the parser's base class of usage errors, which typer does not export
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]


_OWN_WORDS = (  # for what Typer takes over from the library that reads numbers
    (r"Input should be a valid integer\b.*", "a whole number is needed"),
    (r"Input should be a valid number\b.*", "a number is needed"),
    (r"Input should be greater than or equal to (\S+)", r"\1 or more is needed"),
    (r"Input should be less than or equal to (\S+)", r"\1 or less is needed"),
    (r"Value error, ", ""),
)


def usage_sentence(message: str, arguments: Sequence[str], commands: Collection[str]) -> str:
    """The parser's message in one line, with the command whose help tells more: that of `arguments` if it is known."""
    told = re.sub(r"\.? (Did you mean .*\?)$", r" (\1)", " ".join(message.split())).rstrip(".")
    for theirs, own in _OWN_WORDS:
        told = re.sub(theirs, own, told)
    named = next((argument for argument in arguments if not argument.startswith("-")), "")
    command = f"scanmix {named}" if named in commands else "scanmix"
    return f"{told[:1].lower()}{told[1:]}; see `{command} --help`"
