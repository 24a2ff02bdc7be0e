"""Who may know whom: the import rules of pyproject.toml hold, and each of them can fail."""

import re
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

# Imports that a rule forbids: the rule's name, a file that breaks it and no other file's, the line that does.
VIOLATIONS = [
    ("Arrows point one way, and every folder has a place", "method/planted_1.py", "import scanmix_cli.cli"),
    ("Arrows point one way, and every folder has a place", "method/planted_2.py", "import scanmix_cli.bench"),
    ("Arrows point one way, and every folder has a place", "method/planted_3.py", "import scanmix_cli.report"),
    ("Arrows point one way, and every folder has a place", "engine/planted_1.py", "import scanmix_cli.method"),
    ("Arrows point one way, and every folder has a place", "models/planted_1.py", "from ..method import settings"),
    ("Arrows point one way, and every folder has a place", "evidence/planted_1.py", "import scanmix_cli.data"),
    ("Arrows point one way, and every folder has a place", "unplaced/__init__.py", ""),
    ("report, review and export know nothing of training", "report/planted_1.py", "import scanmix_cli.engine"),
    ("report, review and export know nothing of training", "report/planted_2.py", "def plot():\n    import torch"),
    ("report, review and export know nothing of training", "review/planted_1.py", "import scanmix_cli.method"),
    ("report, review and export know nothing of training", "export/planted_1.py", "def onnx():\n    import torch"),
    ("method and engine know nothing of the user's files", "method/planted_4.py", "import scanmix_cli.data"),
    ("engine knows nothing of the method", "engine/planted_2.py", "import scanmix_cli.models"),
    ("models imports nothing of the package", "models/planted_2.py", "from ..errors import DataError"),
    ("data and evidence do without PyTorch", "evidence/planted_2.py", "import torch"),
    ("augment and models stand on PyTorch alone", "augment/planted_1.py", "import numpy"),
]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the linter says of each broken rule, where all violations are there at once."""
    tree = copied(tmp_path_factory.mktemp("broken"))
    for _, file, line in VIOLATIONS:
        target = tree / "scanmix_cli" / file
        target.parent.mkdir(exist_ok=True)
        target.write_text(line + "\n", encoding="utf-8")
    outcome = check(tree)
    assert outcome.returncode == 1
    _, *sections = re.split(r"^(.+)\n-+\n", outcome.stdout.partition("Broken contracts\n")[2], flags=re.MULTILINE)
    return dict(zip(sections[::2], sections[1::2], strict=True))


def copied(tree: Path) -> Path:
    """The package as it is installed, with models/ inside it, and the rules beside it."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "scanmix_cli", tree / "scanmix_cli", ignore=ignore)
    shutil.copytree(REPOSITORY / "models", tree / "scanmix_cli" / "models", ignore=ignore)
    shutil.copy(REPOSITORY / "pyproject.toml", tree)
    return tree


def check(tree: Path) -> subprocess.CompletedProcess[str]:
    linter = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([linter, "--no-cache"], cwd=tree, capture_output=True, text=True, check=False)


def test_every_import_follows_the_rules(tmp_path: Path) -> None:
    outcome = check(copied(tmp_path))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(("rule", "file"), [(rule, file) for rule, file, _ in VIOLATIONS])
def test_a_forbidden_import_breaks_its_rule(broken: dict[str, str], rule: str, file: str) -> None:
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert re.search(rf"^- +scanmix_cli\.{re.escape(module)}( -> |$)", broken[rule], re.MULTILINE)


def test_every_rule_is_seen_to_fail() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    rules = {contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]}
    assert rules == {rule for rule, _, _ in VIOLATIONS}


def test_a_command_starts_without_what_it_needs_later_or_never() -> None:
    """One process, in which the later programs are spared no more than the earlier ones."""
    programs = [
        ("import scanmix_cli.cli.app", {"torch", "pandas", "scipy", "sklearn", "matplotlib"}),
        (
            "from scanmix_cli.profiles import fast; from scanmix_cli.workflow import plan, train; "
            "plan.with_fitting_views(fast.CPU)",
            {"sklearn", "matplotlib", "torchvision", "timm", "faiss", "sympy", "torch._dynamo"},
        ),
        ("from scanmix_cli.bench import listing, runner", {"torchvision", "timm", "faiss", "sympy", "torch._dynamo"}),
    ]
    lines = [f"{program}; print(*sorted({spared} & set(sys.modules)))" for program, spared in programs]
    code = "\n".join(["import sys", *lines])
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "\n" * len(programs)
