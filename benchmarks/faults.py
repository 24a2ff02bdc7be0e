"""Kill a small run at every stage, in the middle of steps and of writing, go on with --resume, compare what comes out;
full and broken disks, too little memory and numbers that are not finite beside it.

    python benchmarks/faults.py                              # CPU: about 70 kills; reports must be equal byte for byte
    python benchmarks/faults.py --device cuda --few          # GPU: a point a stage, scores within a tolerance
    python benchmarks/faults.py --device cuda --too-large    # GPU: batches that do not fit by far

Needs Linux and nothing but the package: the pictures are made here. Expected: every line says ok; else exit code 1.
Every run is a process of its own, forked from one that has imported everything.
"""

import argparse
import csv
import importlib
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fault_data import SETTINGS, write_data, write_weights
from fault_points import LASTING, Fault, arm, narrow

# On a GPU sums are not taken in the same order every time: scores may differ, on average over the images, by three
# times what two undisturbed runs differ by, or by this.
TOLERANCE = 0.02
STAGES = ("simclr", "scan", "warmup", "scanmix")
CACHE = ("append", "half images.npy", "half records.npz", "half notes.json")  # places in a cache of the run's own
OTHERS = (("moco", "moco"), ("scanmix", "beliefs"), ("scanmix", "features"))  # stage and settings
EXACT = ("report.csv", "cleaned.csv", "noise_matrix.csv", "bad_files.csv", "evidence.npz", "model/model.safetensors")


def kill_points() -> list[Fault]:
    """All over a run: steps, epochs, what lies between the stages, and files half written, whole, in place."""
    places = [
        ("append", 20),
        ("half images.npy", 1),
        ("half notes.json", 1),
        ("call workflow.train.make_plan", 1),
        ("half config.toml", 1),
        ("renamed config.toml", 1),
    ]
    places += [("half identity.json", 1), ("call method.methods.mine_neighbors", 1), ("call workflow.train.judge", 1)]
    places += [(f"step {stage}", number) for stage in STAGES for number in (1, 2)]
    places += [(f"epoch {stage}", number) for stage in STAGES for number in (1, 2)] + [("epoch neighbors", 1)]
    places += [(f"{moment} {stage}-", 2) for stage in STAGES for moment in ("half", "rename", "renamed")]
    places += [("half neighbors-", 1), ("half kept-neighbors", 1), ("renamed kept-gate", 1), ("half kept-gate", 1)]
    places += [("step scanmix", 10), ("half metrics.csv", 5), ("half evidence.npz", 1), ("half model.safetensors", 1)]
    places += [("half model.onnx", 1), ("half model.json", 1), ("half report.csv", 1), ("rename report.csv", 1)]
    places += [("renamed report.csv", 1), ("half cleaned.csv", 1), ("half summary.json", 1), ("half report.html", 1)]
    places += [("half latest", 1)]
    faults = [Fault("kill", *place) for place in places]
    for stage, settings in OTHERS:
        places = [(f"step {stage}", 2), (f"epoch {stage}", 2), (f"half {stage}-", 2), (f"renamed {stage}-", 1)]
        faults += [Fault("kill", *place, settings) for place in places]
    places = [("epoch embedding", 1), ("half kept-features", 1), ("renamed kept-features", 1)]
    return faults + [Fault("kill", *place, "features") for place in places]


def other_faults() -> list[Fault]:
    """A full and a broken disk, too little memory and a number that is none, in every stage."""
    disk = [f"half {stage}-" for stage in STAGES] + ["half kept-neighbors", "half config.toml", "half report.csv"]
    disk += ["half model.safetensors", "half report.html", *CACHE]
    faults = [Fault(action, place) for place in disk for action in ("enospc", "eio")]
    faults += [Fault(action, "log", number) for number in (1, 9) for action in ("enospc", "eio")]
    faults += [Fault(action, f"step {stage}", 2) for stage in STAGES for action in ("oom", "nan", "ooms", "nans")]
    for stage, settings in OTHERS:
        faults += [Fault(action, f"half {stage}-", 1, settings) for action in ("enospc", "eio")]
        faults += [Fault(action, f"step {stage}", 2, settings) for action in ("oom", "nan")]
    return faults + [Fault(action, "half kept-features", 1, "features") for action in ("enospc", "eio")]


def few_points() -> list[Fault]:
    """A few points a stage, for machines on which every run takes long; `renamed`, time 1, leaves a stage half done."""
    places = [(f"step {stage}", 2) for stage in STAGES] + [(f"renamed {stage}-", 1) for stage in STAGES]
    places += [("half scanmix-", 2), ("half kept-neighbors", 1), ("call workflow.train.judge", 1), ("half report", 1)]
    faults = [Fault("kill", *place) for place in places] + [Fault("kill", "renamed scanmix-", 1, "beliefs")]
    faults += [Fault(action, f"step {stage}", 2) for stage in STAGES for action in ("oom", "nan")]
    others = [Fault(action, f"step {stage}", 2, kind) for stage, kind in OTHERS[:2] for action in ("kill", "oom")]
    return faults + others


@dataclass
class Bench:
    """Where the runs go and how they are started."""

    work: Path
    device: str
    tolerance: float = 0.0

    def train(
        self, name: str, fault: Fault | None = None, *options: str, settings: str = "usual", memory: int = 0
    ) -> tuple[int, str]:
        """Exit code (-9 when killed) and standard error of a run in a process of its own."""
        said, struck = self.work / f"{name}.err", self.work / f"{name}.struck"
        child = os.fork()
        if child == 0:
            self._child(name, fault, options, settings, memory, said, struck)
        status = os.waitpid(child, 0)[1]
        return os.waitstatus_to_exitcode(status), said.read_text(encoding="utf-8")

    def _child(
        self,
        name: str,
        fault: Fault | None,
        options: tuple[str, ...],
        settings: str,
        memory: int,
        said: Path,
        struck: Path,
    ) -> None:
        code = 70
        try:
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.environ["XDG_CACHE_HOME"] = str(
                self.work / (f"cache-{name}" if fault and fault.place in CACHE else "cache")
            )
            from scanmix_cli.cli.app import main
            from scanmix_cli.engine import context

            context.CHECKPOINT_SECONDS = -1.0
            if fault is not None:
                arm(fault, struck)
            if memory:
                narrow(memory)
            page = () if fault and fault.place.endswith(("report.html", "latest")) else ("--no-html",)
            config = () if "--resume" in options else ("--config", f"{settings}.toml")
            main(["train", "data", "--out", name, "--device", self.device, *page, *config, *options])
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            sys.stderr.flush()
            os._exit(code)

    def judge(self, fault: Fault, name: str) -> str:
        """What is wrong after the fault, "" where all is as it should be."""
        self.undisturbed(fault.settings)
        code, said = self.train(name, fault, settings=fault.settings)
        if not (self.work / f"{name}.struck").exists():
            return "the place was never reached"
        if problem := self._problem(fault, name, code, said):
            return problem
        if fault.action in ("oom", "nan"):
            return ""
        begun = (self.work / name / "config.toml").is_file()
        again = ("--resume",) if begun else ()
        code, said = self.train(name, None, *again, settings=fault.settings)
        return self.difference(name, fault.settings) if code == 0 else f"going on ended with {code}: {said.strip()}"

    def _problem(self, fault: Fault, name: str, code: int, said: str) -> str:
        expected = -9 if fault.action == "kill" else 3 if fault.action in LASTING else 0
        if code != expected:
            return f"exit code {code} in place of {expected}: {said.strip()[-300:]}"
        last = said.strip().splitlines()[-1] if said.strip() else ""
        if expected == 3 and (not last.startswith("scanmix: ") or "Traceback" in said):
            return f"no sentence: {said.strip()[-300:]}"
        if expected == 3 and list((self.work / name).rglob(".*.tmp")):
            return "a temporary file was left"
        if expected == 0 and "warning: " not in said:
            return "nothing was said"
        return "" if expected else self.complete(name)

    def complete(self, name: str) -> str:
        """Whether a run has a row for every image, with scores."""
        rows = read_rows(self.work / name / "report.csv")
        return "" if all(0 <= float(row["label_score"]) <= 1 for row in rows) else "scores are missing"

    def undisturbed(self, settings: str) -> Path:
        """The run that nothing happens to."""
        folder = self.work / f"whole-{settings}"
        if not folder.exists():
            code, said = self.train(folder.name, settings=settings)
            assert code == 0, said
        return folder

    def difference(self, name: str, settings: str) -> str:
        """Between a run that went on and the undisturbed one."""
        left, right = self.undisturbed(settings), self.work / name
        if list(right.rglob(".*.tmp")):
            return "a temporary file was left"
        if self.device == "cpu":
            other = [file for file in EXACT if (left / file).read_bytes() != (right / file).read_bytes()]
            return f"{other[0]} differs" if other else ""
        distance = self.distance(name, settings)
        return "" if distance <= self.tolerance else f"scores differ by {distance:.4f}"

    def distance(self, name: str, settings: str = "usual") -> float:
        """Mean difference of the scores of a run from those of the undisturbed one."""
        runs = (read_rows(self.work / folder / "report.csv") for folder in (f"whole-{settings}", name))
        return float(
            np.mean([abs(float(a["label_score"]) - float(b["label_score"])) for a, b in zip(*runs, strict=True)])
        )


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def try_all(bench: Bench, faults: list[Fault]) -> int:
    """Print a line a fault; returns how many went wrong."""
    bench.undisturbed("usual")
    if bench.device != "cpu":
        code, said = bench.train("twin")
        assert code == 0, said
        bench.tolerance = max(TOLERANCE, 3 * bench.distance("twin"))
        print(
            f"two undisturbed runs differ by {bench.distance('twin'):.4f}, tolerance {bench.tolerance:.4f}", flush=True
        )
    failures = 0
    for k, fault in enumerate(faults):
        began, name = time.monotonic(), f"run{k}"
        problem = bench.judge(fault, name)
        failures += bool(problem)
        print(f"{k + 1:3d}  {fault!s:48s} {time.monotonic() - began:5.1f} s  {problem or 'ok'}", flush=True)
        if not problem:
            shutil.rmtree(bench.work / name, ignore_errors=True)
    print(f"{len(faults)} faults on {bench.device}, {failures} not as they should be")
    return failures


def try_too_large(bench: Bench, images: int) -> int:
    """Batches of all images: on a GPU at 224 pixels with a large network, on a CPU with a limit of 16 images a pass."""
    cpu = bench.device == "cpu"
    large = () if cpu else ("--image-size", "224", "--backbone", "resnet50")
    began = time.monotonic()
    code, said = bench.train("large", None, "--batch-size", str(images), *large, memory=16 if cpu else 0)
    warnings = [line for line in said.splitlines() if "ran out of memory" in line]
    print(*warnings, sep="\n")
    problem = said.strip()[-500:] if code else bench.complete("large") or ("" if warnings else "everything fitted")
    print(f"batches of {images} images: {time.monotonic() - began:.1f} s, {problem or 'ok'}")
    return bool(problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    parser.add_argument("--few", action="store_true", help="a point a stage")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="points whose description holds one of the texts")
    parser.add_argument("--too-large", action="store_true", help="batches that do not fit, and nothing else")
    options = parser.parse_args()
    images = 30 if options.device == "cpu" else 4096 if options.too_large else 300
    importlib.import_module("scanmix_cli.workflow.train")  # before any fork, so that it is done once
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # CUDA must not begin before the fork
    with tempfile.TemporaryDirectory(prefix="scanmix-faults-") as folder:
        os.chdir(folder)
        write_data(Path("data"), images)
        for name, content in SETTINGS.items():
            Path(f"{name}.toml").write_text(content, encoding="utf-8")
        write_weights(Path("own.safetensors"))
        bench = Bench(Path(folder), options.device)
        if options.too_large:
            sys.exit(try_too_large(bench, images))
        faults = few_points() if options.few else kill_points() + other_faults()
        chosen = [fault for fault in faults if not options.only or any(text in str(fault) for text in options.only)]
        sys.exit(try_all(bench, chosen) > 0)


if __name__ == "__main__":
    main()
