"""Errors a user can meet: each is one sentence saying what, where and what to do next."""


class ScanmixError(Exception):
    """Base of all expected failures; the command line prints the sentence and exits with `exit_code`."""

    exit_code = 2


class DataError(ScanmixError):
    """The input cannot be used: no images, one class, a missing column."""


class SettingsError(ScanmixError):
    """An option, a configuration key or a combination of them is wrong."""


class RunError(ScanmixError):
    """The run itself failed; what was done so far is kept."""

    exit_code = 3


class PeerLost(RunError):
    """Another process that shares the run is gone."""


class Interrupted(ScanmixError):
    """The user stopped the run; its state is saved."""

    exit_code = 130
