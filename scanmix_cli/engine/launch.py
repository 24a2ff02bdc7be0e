"""Starting several processes of one run on this machine, and telling how they ended; PyTorch is imported late."""

import logging
import os
import signal

from scanmix_cli.errors import Interrupted, RunError, SettingsError

GRACE = 2.0  # seconds in which the others end after one process has ended or Ctrl-C was pressed
INTERRUPTED = Interrupted.exit_code
RUN_ID = "scanmix"  # marks processes that were started here, not by torchrun


def processes() -> int:
    """How many processes torchrun (or `launch`) started for this run; 1 in a process started by hand."""
    return int(os.environ["WORLD_SIZE"]) if "TORCHELASTIC_RUN_ID" in os.environ else 1


def report_comes_from_elsewhere(peer_lost: bool) -> bool:
    """Whether this process should wait before it tells of its failure, because another one probably does.

    What all processes meet is told by the writer; that a process was killed is told by `launch`.
    """
    if processes() == 1:
        return False
    return os.environ["RANK"] != "0" or (peer_lost and os.environ["TORCHELASTIC_RUN_ID"] == RUN_ID)


def require_gpus(count: int, device: str | None) -> None:
    """SettingsError where this machine has fewer than `count` GPUs or `--device` names something else."""
    import torch

    if device not in (None, "auto", "cuda"):
        raise SettingsError(f"--gpus and --device {device} exclude each other; leave one out")
    found = torch.cuda.device_count()
    if found < count:
        here = f"only {found}" if found else "no usable GPU"
        raise SettingsError(
            f"--gpus {count} was asked for but there is {here} here; give a smaller number or leave it out"
        )


def launch(count: int, command: list[str], go_on: str) -> int:
    """Run `command` in `count` processes, as `torchrun --standalone` does; all are ended when one of them fails.

    Returns 0, or the exit code of the process that ended first, which has said why. RunError where that one was killed:
    `go_on` is what to do next.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.CRITICAL)  # its reports of failures, which are told in a sentence below
    os.environ.setdefault("OMP_NUM_THREADS", str(max((os.cpu_count() or 1) // count, 1)))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id=RUN_ID,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
    )
    try:
        elastic_launch(config, command[0])(*command[1:])
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            return INTERRUPTED  # the writer has told
        raise Interrupted(f"interrupted; what was saved so far is kept, {go_on}") from None  # they ended at once
    except ChildFailedError as error:
        number, failure = error.get_first_failure()
        if failure.exitcode >= 0:
            return failure.exitcode
        name = signal.Signals(-failure.exitcode).name
        raise RunError(
            f"process {number} of {count} was ended by {name}; what was saved so far is kept, {go_on}"
        ) from None
    finally:
        logging.disable(logging.NOTSET)
    return 0
