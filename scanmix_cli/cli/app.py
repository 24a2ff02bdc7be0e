"""The `scanmix` command: registers the sub-commands and turns expected errors into one sentence and an exit code.

The modules of the sub-commands import what takes long (pandas, SciPy, PyTorch) only when they are called.
"""

import errno
import os
import sys
import time
import traceback
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from scanmix_cli.cli.bench import bench
from scanmix_cli.cli.check import check
from scanmix_cli.cli.export import export
from scanmix_cli.cli.import_results import import_results
from scanmix_cli.cli.interrupts import pass_over
from scanmix_cli.cli.options import VerboseOption
from scanmix_cli.cli.predict import predict
from scanmix_cli.cli.report import report
from scanmix_cli.cli.review import review
from scanmix_cli.cli.screen import forget_senseless_width
from scanmix_cli.cli.train import train
from scanmix_cli.cli.usage import UsageError, usage_sentence
from scanmix_cli.data.wording import printable, shown
from scanmix_cli.engine.launch import GRACE, processes, report_comes_from_elsewhere
from scanmix_cli.errors import DataError, Interrupted, PeerLost, RunError, ScanmixError, SettingsError
from scanmix_cli.files import refused_file, shortage
from scanmix_cli.version import __version__

NO_THREAD = "can't start new thread"  # in Python's own words
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train)
app.command()(report)
app.command()(review)
app.command()(check)
app.command()(predict)
app.command()(export)
app.command("import")(import_results)
app.command()(bench)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"scanmix {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find mislabelled images, clean the labels and train a classifier that wrong labels did not spoil.

    Example: scanmix train ./images
    """
    os.getcwd()  # where it is gone that is told now: a library of PyTorch would end the process without a word of ours
    if processes() > 1 and context.invoked_subcommand != "train":
        raise SettingsError(
            f"scanmix {context.invoked_subcommand} cannot be shared by processes; run it without torchrun"
        )


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command; exits with the codes of the interface."""
    given = sys.argv[1:] if arguments is None else arguments
    forget_senseless_width()
    try:
        sys.exit(_run(given))
    except ScanmixError as error:
        if report_comes_from_elsewhere(isinstance(error, PeerLost)):
            time.sleep(GRACE)
        _stop(str(error), error.exit_code, given)
    except KeyboardInterrupt:
        _stop("interrupted; run the command again", Interrupted.exit_code, given)
    except BrokenPipeError:  # the reader of our output has seen enough
        _let_go_of_output()
        sys.exit(0)
    except Exception as error:
        if told := _refused_by_the_system(error):
            _let_go_of_output()
            _stop(str(told), told.exit_code, given)
        reason = " ".join(str(error).split()) or "no further message"
        advice = "run `scanmix -v -v ...` for the details and report it"
        _stop(f"unexpected {type(error).__name__} ({reason}); {advice}", RunError.exit_code, given)


def _run(arguments: list[str]) -> int:
    """The exit code of the command; raises SettingsError for what the option parser refuses."""
    try:
        code = app(arguments, obj=arguments, standalone_mode=False) or 0
    except UsageError as error:
        if not arguments:  # the help was shown
            return error.exit_code
        commands = typer.main.get_group(app).commands
        raise SettingsError(usage_sentence(error.format_message(), arguments, commands)) from None
    except SystemExit as stop:  # of a broken pipe Typer and Rich make exit code 1, which means --fail-on here
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise
    if code == Interrupted.exit_code:  # what Typer makes of Ctrl-C, without a word
        raise KeyboardInterrupt
    return code


def _refused_by_the_system(error: Exception) -> ScanmixError | None:
    """The sentence for a file that cannot be used, for a standard output that holds no more (its errors name no file),
    for a machine that is short of something, or for a name that the locale has no letters for; None for what may be a
    defect of ours."""
    if isinstance(error, MemoryError):
        error = OSError(errno.ENOMEM, "the memory of this machine is used up")
    elif isinstance(error, RuntimeError) and str(error) == NO_THREAD:
        error = OSError(errno.EAGAIN, NO_THREAD)
    if isinstance(error, UnicodeEncodeError) and error.encoding.replace("-", "") != "utf8":
        return _beyond_the_locale(error)
    if not isinstance(error, OSError):
        return None
    if error.filename is None and error.errno in FULL:
        return RunError(f"what was to be printed cannot be written ({error.strerror}); make room or send it elsewhere")
    if error.filename is None and (told := shortage(error)):
        return RunError(told)
    return refused_file(error)


def _beyond_the_locale(error: UnicodeEncodeError) -> ScanmixError:
    return DataError(
        f"{shown(error.object)} cannot be written in the letters of this locale ({error.encoding}); "
        "set PYTHONUTF8=1 and run the command again"
    )


def _let_go_of_output() -> None:
    """Keep Python from complaining when it flushes what cannot be written at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(sentence: str, code: int, arguments: list[str]) -> NoReturn:
    """Say it and leave; with `-v -v` the traceback comes first."""
    pass_over()
    if arguments.count("-v") + arguments.count("--verbose") > 1 or "-vv" in arguments:
        traceback.print_exc()
    typer.echo(f"scanmix: {printable(sentence, sys.stderr.encoding or 'utf-8')}", err=True)
    sys.exit(code)
