"""The fused kernels give what nn.BatchNorm2d, addition and ReLU give; run by Triton's interpreter, on the CPU."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("interpret_fused_norm.py")
# Relative, in the Euclidean norm. float32: sums in another order; bf16: output and gradients are stored with 8 bits.
TOLERANCE = {"torch.float32": 2e-6, "torch.bfloat16": 1e-2}


@pytest.fixture(scope="module")
def cases() -> list[dict]:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton is not installed: its kernels cannot be interpreted")
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, env=environment, check=False)
    if "only 0-dimensional arrays can be converted" in run.stderr:
        pytest.skip("the interpreter of this triton is older than this numpy and cannot run under it")
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("kind", ["alone", "residual", "two norms"])
def test_kernels_agree_with_batch_norm(cases: list[dict], kind: str) -> None:
    own = [case for case in cases if case["kind"] == kind]
    assert {(case["groups"], case["train"]) for case in own} == {(1, True), (3, True), (2, True), (1, False)}
    for case in own:
        wrong = {name: error for name, error in case["error"].items() if not error <= TOLERANCE[case["dtype"]]}
        assert not wrong, case


def test_everything_is_compared(cases: list[dict]) -> None:
    names = {kind: set() for kind in ("alone", "residual", "two norms")}  # type: dict[str, set[str]]
    for case in cases:
        names[case["kind"]] |= set(case["error"])
    assert len(names["alone"]) == 2 + 3 + 2  # output and input gradient, buffers, parameter gradients
    assert names["residual"] - names["alone"] == {"input 1 gradient"}
    assert len(names["two norms"] - names["residual"]) == 3 + 2


def test_two_processes_share_the_statistics_of_a_batch(cases: list[dict], tmp_path: Path) -> None:
    assert cases  # the interpreter works here
    script = str(SCRIPT.with_name("interpret_shared_norm.py"))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([*command, str(tmp_path / "errors.json")], check=True, capture_output=True, env=environment)
    errors = json.loads((tmp_path / "errors.json").read_text())
    assert len(errors) == 1 + 2 + 4 + 6  # output, gradients of inputs and parameters, buffers
    assert not {name: error for name, error in errors.items() if not error <= TOLERANCE["torch.float32"]}
