"""What `make wheel` put into dist/: `make wheel-test` looks into it, and runs it where there is no compiler."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from real_data import absent

pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMPILERS = ("c++", "g++", "gcc", "cc", "clang", "clang++", "cl", "cmake", "ninja", "make")


def the_only(pattern: str) -> Path:
    folder = Path(os.environ.get("FCCA_DIST") or ROOT / "dist")
    found = sorted(folder.glob(pattern))
    if not found:
        absent(f"there is no {pattern} in {folder}: `make wheel` puts it there")
    assert len(found) == 1, f"{folder} has several of {pattern}: {[path.name for path in found]}"
    return found[0]


@pytest.fixture(scope="module")
def wheel() -> Path:
    return the_only("fcca-*.whl")


@pytest.fixture(scope="module")
def sdist() -> Path:
    return the_only("fcca-*.tar.gz")


def tracked(*folders: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    version = PROJECT["version"]
    core = {name for name in names if re.fullmatch(r"fcca/_core\.[^/]*(so|pyd)", name)}
    assert len(core) == 1
    about = {f"fcca-{version}.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    about |= {f"fcca-{version}.dist-info/licenses/{name}" for name in PROJECT["license-files"]}
    assert names - core - about == {name.removeprefix("src/") for name in tracked("src/fcca")}
    assert "fcca/py.typed" in names
    assert any(name.startswith("fcca/report/templates/") for name in names)


def test_the_sdist_has_what_git_has_and_nothing_of_this_machine(sdist):
    with tarfile.open(sdist) as archive:
        top = f"fcca-{PROJECT['version']}/"
        names = {member.name.removeprefix(top) for member in archive if member.isfile()}
        own = archive.extractfile(f"{top}LICENSE").read()
    assert own == (ROOT / "LICENSE").read_bytes()
    outside = {name for name in tracked() if name.startswith((".ci/", ".github/")) or name == ".pre-commit-config.yaml"}
    assert names - {"PKG-INFO"} == tracked() - outside


def test_the_metadata_is_the_projects(wheel):
    told = metadata_of(wheel)
    assert told["Name"] == "fcca"
    assert told["Version"] == PROJECT["version"]
    assert told["Requires-Python"] == PROJECT["requires-python"]
    assert told["License-Expression"] == "BSD-3-Clause"
    assert told.get_all("License-File") == PROJECT["license-files"]
    assert set(told.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    needed = [Requirement(line) for line in told.get_all("Requires-Dist")]
    runtime = {str(line) for line in needed if "extra" not in str(line.marker)}
    assert runtime == {str(Requirement(line)) for line in PROJECT["dependencies"]}
    assert told.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.read(f"fcca-{PROJECT['version']}.dist-info/entry_points.txt").decode()
    assert re.search(r"\[console_scripts\]\s+fcca ?= ?fcca\.cli:main", entries)


def test_the_wheel_is_for_this_python_and_names_no_folder_of_the_machine_that_built_it(wheel):
    assert parse_wheel_filename(wheel.name)[3] & set(sys_tags())
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            for folder in (ROOT, Path.home()):
                assert len(folder.parts) < 3 or str(folder).encode() not in content, f"{name} names {folder}"


def test_the_wheel_installs_and_runs_where_there_is_no_compiler(wheel, tmp_path):
    venv.create(tmp_path / "clean", with_pip=True)
    programs = tmp_path / "clean" / ("Scripts" if sys.platform == "win32" else "bin")
    empty = tmp_path / "empty"
    empty.mkdir()
    hidden = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FCCA", "COV_", "COVERAGE"))
    }
    hidden |= {"PATH": str(programs), "CC": "/bin/false", "CXX": "/bin/false"}
    assert not [name for name in COMPILERS if shutil.which(name, path=hidden["PATH"])]

    def run(*args: object) -> str:
        done = subprocess.run([programs / "python", *map(str, args)], cwd=empty, env=hidden, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", wheel.resolve())
    installed = run("-m", "pip", "list", "--format", "freeze").lower()
    assert "nanobind" not in installed
    assert "scikit-build" not in installed
    assert f"fcca {PROJECT['version']}" in run(SMOKE)
    assert not list(empty.iterdir())
