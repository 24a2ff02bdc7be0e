"""Kill a small run at every stage, in the middle of steps and of writing, go on with --resume, compare what comes out;
full and broken disks, too little memory and numbers that are not finite beside it.

    python benchmarks/faults.py                              # CPU: 200 faults; reports must be equal byte for byte
    python benchmarks/faults.py --device cuda --few          # GPU: a few points a stage, scores within a tolerance
    python benchmarks/faults.py --device cuda --too-large    # GPU: batches that do not fit in 24 GiB by far
    python benchmarks/faults.py --seconds 300 --results t.csv    # as many as begin within that time; again: the rest

Needs Linux and nothing but the package: the pictures are made here. Expected: every line says ok; else exit code 1.
Every run is a process of its own, forked from one that has imported everything.
"""

import argparse
import csv
import importlib
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fault_data import SETTINGS, write_data, write_weights
from fault_list import CACHE, STAGES, few_points, kill_points, other_faults
from fault_points import LASTING, Fault, arm, confine, narrow

# On a GPU sums are not taken in the same order every time: scores may differ, on average over the images, by three
# times what two undisturbed runs differ by, or by this.
TOLERANCE = 0.02
LONGEST = 480  # seconds; a run that takes longer is stuck
# Before the first fork, so that it is done once: two thirds of the time of a run.
IMPORTED = (
    *("scanmix_cli.workflow.train", "torch._dynamo", "scipy.stats", "sklearn.manifold", "sklearn.mixture"),
    *("faiss", "torch.onnx", "onnx.reference"),
)
LARGE = ("beliefs", "published", "moco")  # settings whose stages are tried with batches that do not fit
EXACT = ("report.csv", "cleaned.csv", "noise_matrix.csv", "bad_files.csv", "evidence.npz", "model/model.safetensors")


@dataclass
class Bench:
    """Where the runs go and how they are started."""

    work: Path
    device: str
    tolerances: dict[str, float] = field(default_factory=dict)  # by settings

    def train(
        self, name: str, fault: Fault | None = None, *options: str, settings: str = "published", memory: int = 0
    ) -> tuple[int, str]:
        """Exit code (-9 when killed) and standard error of a run in a process of its own."""
        said, struck = self.work / f"{name}.err", self.work / f"{name}.struck"
        for module in IMPORTED:
            importlib.import_module(module)
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
            signal.alarm(LONGEST)
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
                narrow(memory) if self.device == "cpu" else confine(memory)
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
        """The run that nothing happens to; beside a GPU another one, to know by how much two of them differ."""
        folder = self.work / f"whole-{settings}"
        if folder.exists():
            return folder
        self._whole(folder.name, settings)
        if self.device != "cpu":
            self._whole(twin := f"twin-{settings}", settings)
            apart = self.distance(twin, settings)
            self.tolerances[settings] = max(TOLERANCE, 3 * apart)
            allowed = self.tolerances[settings]
            print(f"two undisturbed runs ({settings}) differ by {apart:.4f}, tolerance {allowed:.4f}", flush=True)
        return folder

    def _whole(self, name: str, settings: str) -> None:
        code, said = self.train(name, settings=settings)
        assert code == 0, said

    def difference(self, name: str, settings: str) -> str:
        """Between a run that went on and the undisturbed one."""
        left, right = self.undisturbed(settings), self.work / name
        if list(right.rglob(".*.tmp")):
            return "a temporary file was left"
        if self.device == "cpu":
            other = [file for file in EXACT if (left / file).read_bytes() != (right / file).read_bytes()]
            return f"{other[0]} differs" if other else ""
        distance = self.distance(name, settings)
        return "" if distance <= self.tolerances[settings] else f"scores differ by {distance:.4f}"

    def distance(self, name: str, settings: str) -> float:
        """Mean difference of the scores of a run from those of the undisturbed one."""
        runs = (read_rows(self.work / folder / "report.csv") for folder in (f"whole-{settings}", name))
        return float(
            np.mean([abs(float(a["label_score"]) - float(b["label_score"])) for a, b in zip(*runs, strict=True)])
        )


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def known_good(path: Path | None, device: str) -> set[str]:
    """Faults that an earlier call has tried on such a device and found as they should be."""
    rows = read_rows(path) if path is not None and path.exists() else []
    return {row["fault"] for row in rows if row["outcome"] == "ok" and row["device"] == device}


def note(path: Path | None, row: dict[str, str]) -> None:
    """Append a row of results at once, so that whatever ends the script leaves them."""
    if path is None:
        return
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def try_all(bench: Bench, faults: list[Fault], seconds: float, results: Path | None) -> int:
    """Print a line a fault, beginning none after `seconds`; returns how many went wrong."""
    began, spent, tried, failures = time.monotonic(), Counter[str](), Counter[str](), 0
    for k, fault in enumerate(faults):
        start, name = time.monotonic(), f"run{k}"
        if start - began > seconds:
            break
        outcome = bench.judge(fault, name) or "ok"
        took = time.monotonic() - start
        failures += outcome != "ok"
        spent[fault.settings] += took
        tried[fault.settings] += 1
        print(f"{k + 1:3d}  {fault!s:60s} {took:5.1f} s  {outcome}", flush=True)
        note(results, {"fault": str(fault), "device": bench.device, "seconds": f"{took:.1f}", "outcome": outcome})
        if outcome == "ok":
            shutil.rmtree(bench.work / name, ignore_errors=True)
    for settings, took in spent.items():
        print(f"{settings}: {tried[settings]} in {took:.0f} s")
    left = faults[tried.total() :]
    for fault in left:
        print(f"not tried: {fault}")
    rest = f", {len(left)} more not tried" if left else ""
    print(f"{tried.total()} faults on {bench.device}, {failures} not as they should be{rest}")
    return failures


def try_too_large(bench: Bench, images: int, settings: str, results: Path | None) -> int:
    """Batches of all images in every stage: on a GPU at 224 pixels with a large network in 24 GiB, on a CPU with
    room for 16 images a pass."""
    cpu = bench.device == "cpu"
    large = () if cpu else ("--image-size", "224", "--backbone", "resnet50")
    began, name = time.monotonic(), f"large-{settings}"
    content = re.sub(r"batch_size = \d+", f"batch_size = {images}", SETTINGS[settings])
    content = content.replace("[profile.contrastive]", "[profile.contrastive]\ncrop = 1.0")
    Path(f"{name}.toml").write_text(content, encoding="utf-8")
    code, said = bench.train(name, None, *large, settings=name, memory=16 if cpu else 24)
    warnings = [line for line in said.splitlines() if "ran out of memory" in line]
    print(*warnings, sep="\n")
    fitted = [stage for stage in STAGES[settings] if not any(f" of {stage}: " in line for line in warnings)]
    problem = said.strip()[-500:] if code else bench.complete(name)
    problem = problem or (f"everything fitted in {', '.join(fitted)}" if fitted else "")
    took, outcome = time.monotonic() - began, problem or "ok"
    what = f"batches of {images} images ({settings})"
    print(f"{what}: {took:.1f} s, {outcome}", flush=True)
    note(results, {"fault": what, "device": bench.device, "seconds": f"{took:.1f}", "outcome": outcome})
    return bool(problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    parser.add_argument("--few", action="store_true", help="a few points a stage")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="faults whose line holds one of the texts")
    parser.add_argument("--too-large", action="store_true", help="batches that do not fit; --only takes settings")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no further fault after this time")
    parser.add_argument(
        "--results", type=Path, metavar="CSV", help="add a row a fault; those that are ok there are not tried again"
    )
    options = parser.parse_args()
    results = options.results and options.results.absolute()
    images = 30 if options.device == "cpu" else 1536 if options.too_large else 120
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # CUDA must not begin before the fork
    with tempfile.TemporaryDirectory(prefix="scanmix-faults-") as folder:
        os.chdir(folder)
        write_data(Path("data"), images)
        for name, content in SETTINGS.items():
            Path(f"{name}.toml").write_text(content, encoding="utf-8")
        write_weights(Path("own.safetensors"))
        bench = Bench(Path(folder), options.device)
        if options.too_large:
            wanted = [settings for settings in LARGE if not options.only or settings in options.only]
            sys.exit(sum(try_too_large(bench, images, settings, results) for settings in wanted) > 0)
        faults = few_points() if options.few else kill_points() + other_faults()
        chosen = [fault for fault in faults if not options.only or any(text in str(fault) for text in options.only)]
        known = known_good(results, bench.device)
        chosen = [fault for fault in chosen if str(fault) not in known]
        sys.exit(try_all(bench, chosen, options.seconds, results) > 0)


if __name__ == "__main__":
    main()
