"""The wheel holds the whole package and nothing beside it."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def shipped(folder: Path) -> set[str]:
    """Every file under `folder` that belongs into the wheel, relative to it."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix() for path in files}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: an old build folder beside the sources would leak into the wheel."""
    source = tmp_path_factory.mktemp("source")
    for folder in ("scanmix_cli", "models"):
        shutil.copytree(REPOSITORY / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / file, source)
    out = source / "dist"
    subprocess.run(
        [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", out, source], check=True
    )
    (built,) = out.glob("*.whl")
    return built


def test_wheel_holds_every_file_of_the_package_and_no_other_name(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {f"scanmix_cli/{name}" for name in shipped(REPOSITORY / "scanmix_cli")}
    networks = {f"scanmix_cli/models/{name}" for name in shipped(REPOSITORY / "models")}
    assert {"scanmix_cli/py.typed", "scanmix_cli/models/__init__.py"} <= package | networks
    assert {name for name in names if ".dist-info/" not in name} == package | networks


def test_wheel_carries_the_licence_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = (name for name in archive.namelist() if name.endswith("/licenses/LICENSE"))
        assert archive.read(licence) == (REPOSITORY / "LICENSE").read_bytes()
        (commands,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert "scanmix = scanmix_cli.__main__:main" in archive.read(commands).decode()


def test_installed_wheel_imports_its_networks_and_leaves_no_top_level_models(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run([*PIP, "install", "--no-deps", "--no-index", "--target", site, wheel], check=True)
    assert not (site / "models").exists()
    assert not (site / "models.py").exists()
    program = f"import sys; sys.path.insert(0, {str(site)!r}); import scanmix_cli.models as m; print(m.__file__)"
    outcome = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(outcome.stdout.strip()) == site / "scanmix_cli" / "models" / "__init__.py"
