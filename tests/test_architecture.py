"""Who may know whom: the import rules of pyproject.toml hold, and each of them can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[1]

# One import that each rule forbids: the rule's name, the file that breaks it, the line that does.
VIOLATIONS = [
    ("Arrows point one way, and every folder has a place", "method/planted.py", "import scanmix_cli.cli"),
    ("Arrows point one way, and every folder has a place", "method/planted.py", "import scanmix_cli.bench"),
    ("Arrows point one way, and every folder has a place", "method/planted.py", "import scanmix_cli.report"),
    ("Arrows point one way, and every folder has a place", "engine/planted.py", "import scanmix_cli.method"),
    ("Arrows point one way, and every folder has a place", "models/planted.py", "from ..method import settings"),
    ("Arrows point one way, and every folder has a place", "evidence/planted.py", "import scanmix_cli.data"),
    ("Arrows point one way, and every folder has a place", "unplaced/__init__.py", ""),
    ("report, review and export know nothing of training", "report/planted.py", "import scanmix_cli.engine"),
    ("report, review and export know nothing of training", "report/planted.py", "def plot():\n    import torch"),
    ("report, review and export know nothing of training", "review/planted.py", "import scanmix_cli.method"),
    ("report, review and export know nothing of training", "export/planted.py", "def onnx():\n    import torch"),
    ("method and engine know nothing of the user's files", "method/planted.py", "import scanmix_cli.data"),
    ("engine knows nothing of the method", "engine/planted.py", "import scanmix_cli.models"),
    ("models imports nothing of the package", "models/planted.py", "from ..errors import DataError"),
    ("data and evidence do without PyTorch", "evidence/planted.py", "import torch"),
    ("augment and models stand on PyTorch alone", "augment/planted.py", "import numpy"),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The package as it is installed, with models/ inside it, and the rules beside it."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "scanmix_cli", tmp_path / "scanmix_cli", ignore=ignore)
    shutil.copytree(REPOSITORY / "models", tmp_path / "scanmix_cli" / "models", ignore=ignore)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def check(tree: Path) -> subprocess.CompletedProcess[str]:
    linter = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([linter, "--no-cache"], cwd=tree, capture_output=True, text=True, check=False)


def test_every_import_follows_the_rules(tree: Path) -> None:
    outcome = check(tree)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(("rule", "file", "line"), VIOLATIONS)
def test_a_forbidden_import_breaks_its_rule(tree: Path, rule: str, file: str, line: str) -> None:
    target = tree / "scanmix_cli" / file
    target.parent.mkdir(exist_ok=True)
    target.write_text(line + "\n", encoding="utf-8")
    outcome = check(tree)
    assert outcome.returncode == 1
    assert f"{rule} BROKEN" in outcome.stdout


def test_every_rule_is_seen_to_fail() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    rules = {contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]}
    assert rules == {rule for rule, _, _ in VIOLATIONS}


@pytest.mark.parametrize(
    ("program", "spared"),
    [
        ("import scanmix_cli.cli.app", {"torch", "pandas", "scipy", "sklearn", "matplotlib"}),
        ("import scanmix_cli.workflow.train", {"sklearn", "matplotlib", "torchvision", "timm", "faiss"}),
    ],
)
def test_a_command_starts_without_what_it_needs_later_or_never(program: str, spared: set[str]) -> None:
    program += f"; import sys; print(*sorted({spared} & set(sys.modules)))"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == ""
