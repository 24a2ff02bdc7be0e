"""What the option parser refuses is one sentence and exit code 2."""

import pytest

from scanmix_cli.cli.app import main
from scanmix_cli.cli.usage import usage_sentence

TOO_SMALL = "invalid value for '--{}': 1 or more is needed; see `scanmix {} --help`"
BAD = [
    (["train", "photos", "--epochs", "0"], TOO_SMALL.format("epochs", "train")),
    (["review", "--top", "0"], TOO_SMALL.format("top", "review")),
    (["report", "--top", "0"], TOO_SMALL.format("top", "report")),
    (["report", "--review-budget", "0"], TOO_SMALL.format("review-budget", "report")),
    (
        ["report", "--top", "x"],
        "invalid value for '--top': a whole number is needed; see `scanmix report --help`",
    ),
    (
        ["report", "--threshold", "x"],
        "invalid value for '--threshold': a number is needed; see `scanmix report --help`",
    ),
    (
        ["predict", "run", "x", "--views", "11"],
        "invalid value for '--views': 10 or less is needed; see `scanmix predict --help`",
    ),
    (
        ["train", "photos", "--truncated", "x"],
        "invalid value for '--truncated': 'x' is not one of 'skip', 'use'; see `scanmix train --help`",
    ),
    (
        ["-v", "train", "photos", "--profil", "fast"],
        "no such option: --profil (Possible options: --config, --profile); see `scanmix train --help`",
    ),
    (["report", "--run"], "option '--run' requires an argument; see `scanmix report --help`"),
    (["train"], "missing argument 'DATA'; see `scanmix train --help`"),
    (["reprot"], "no such command 'reprot' (Did you mean 'report', 'export'?); see `scanmix --help`"),
    (["-v"], "missing command; see `scanmix --help`"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD)
def test_wrong_usage_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr() == ("", f"scanmix: {sentence}\n")


def test_a_message_of_several_lines_becomes_one() -> None:
    told = usage_sentence("Invalid value:\n  no", ["--bogus"], {"train"})
    assert told == "invalid value: no; see `scanmix --help`"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["train", "-h"]])
def test_help_is_no_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    shown = capsys.readouterr()
    assert "Example: scanmix train ./images" in shown.out
    assert shown.err == ""
    assert stopped.value.code == (0 if arguments else 2)
