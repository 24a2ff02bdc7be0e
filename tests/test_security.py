"""What the package never does, read off its source: unpickle, evaluate text, start a shell, open connections."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "scanmix_cli").rglob("*.py"), *(ROOT / "models").rglob("*.py")])
NEVER_CALLED = {"eval", "exec", "os.system", "os.popen", "pickle.load", "pickle.loads", "pd.read_pickle", "joblib.load"}
NEVER_IMPORTED = {"requests", "urllib.request", "http.client", "httpx", "ftplib", "telnetlib", "shelve", "dill", "yaml"}
PICKLES = {"scanmix_cli/bench/restricted_pickle.py", "scanmix_cli/engine/checkpoints.py"}  # the second for its errors


def problems(tree: ast.AST) -> Iterator[str]:
    """What is wrong with a module, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None)
            named = {alias.name if module is None else f"{module}.{alias.name}" for alias in node.names} | {module}
            yield from (f"{node.lineno}: imports {name}" for name in named & NEVER_IMPORTED)
            if "pickle" in named:
                yield f"{node.lineno}: imports pickle"
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if name in NEVER_CALLED:
                yield f"{node.lineno}: calls {name}"
            if name == "torch.load" and given.get("weights_only") != "True":
                yield f"{node.lineno}: torch.load without weights_only=True"
            if name in ("np.load", "numpy.load") and given.get("allow_pickle", "False") != "False":
                yield f"{node.lineno}: np.load with pickles"
            if given.get("shell", "False") != "False":
                yield f"{node.lineno}: starts a shell"
            if name == "onnx.load" and given.get("load_external_data", "True") == "True":
                yield f"{node.lineno}: onnx.load with files beside it"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_source_does_nothing_dangerous(path: Path) -> None:
    found = list(problems(ast.parse(path.read_text(encoding="utf-8"))))
    if path.relative_to(ROOT).as_posix() in PICKLES:
        found = [problem for problem in found if not problem.endswith("imports pickle")]
    assert found == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("torch.load(path)", "1: torch.load without weights_only=True"),
        ("torch.load(path, weights_only=False)", "1: torch.load without weights_only=True"),
        ("np.load(path, allow_pickle=True)", "1: np.load with pickles"),
        ("import pickle", "1: imports pickle"),
        ("from urllib.request import urlopen", "1: imports urllib.request"),
        ("subprocess.run(text, shell=True)", "1: starts a shell"),
        ("eval(text)", "1: calls eval"),
        ("onnx.load(path)", "1: onnx.load with files beside it"),
    ],
)
def test_the_check_finds(source: str, problem: str) -> None:
    assert list(problems(ast.parse(source))) == [problem]


def test_the_check_lets_safe_ways_pass() -> None:
    safe = "torch.load(path, weights_only=True); np.load(path); np.load(path, allow_pickle=False); net.eval()"
    assert list(problems(ast.parse(safe))) == []
