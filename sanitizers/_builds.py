"""Builds of the core that are watched while they run, and the environments in which Python runs on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class CannotWatchError(Exception):
    """Something that a build or a run needs is not there, or failed."""


def program(name: str, hint: str) -> str:
    """The path of a program, of this environment first."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise CannotWatchError(f"{name} was not found. {hint}")
    return found


def run(command: Sequence[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Run to the end; what was printed is shown only where it failed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}"
        raise CannotWatchError(f"{' '.join(str(part) for part in command)}\nended with {done.returncode}:\n{said[-20_000:]}")
    return done  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Build:
    """One build of the core: what for, and where."""

    watch: str
    folder: Path

    @property
    def core(self) -> Path:
        """The module that Python loads."""
        return self.folder / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"

    def make(self, targets: Sequence[str]) -> None:
        """Configure and build; what is up to date stays."""
        try:
            import nanobind
        except ImportError as error:
            raise CannotWatchError(
                "nanobind, with which the package is built, was not found. pip install nanobind."
            ) from error
        cmake = program("cmake", "pip install cmake ninja.")
        settings = {
            "FCCA_WATCH": self.watch,
            "FCCA_INSTRUCTIONS": "ON",
            "FCCA_FAILURES": "ON",
            "CMAKE_BUILD_TYPE": "Debug",
            "CMAKE_MAKE_PROGRAM": program("ninja", "pip install cmake ninja."),
            "CMAKE_CXX_COMPILER": compiler(),
            "Python_EXECUTABLE": sys.executable,
            "nanobind_DIR": nanobind.cmake_dir(),
        }
        defined = [f"-D{name}={value}" for name, value in settings.items()]
        cache = self.folder / "CMakeCache.txt"
        is_other = cache.exists() and f"CMAKE_CXX_COMPILER:STRING={compiler()}\n" not in cache.read_text(encoding="utf-8")
        run([cmake, *(["--fresh"] if is_other else []), "-S", ROOT, "-B", self.folder, "-G", "Ninja", *defined])
        run([cmake, "--build", self.folder, "--target", *targets])

    def environment(self, options: Mapping[str, str], preloaded: Sequence[str] = ()) -> dict[str, str]:
        """Variables under which Python, and whatever it starts, has this core, and these libraries before all others."""
        paths = [str(ROOT / "sanitizers" / "watched"), *filter(None, [os.environ.get("PYTHONPATH")])]
        libraries = " ".join(library(name) for name in preloaded)
        loaded = {"LD_PRELOAD": libraries} if preloaded else {}
        return {**os.environ, "FCCA_CORE": str(self.core), "PYTHONPATH": os.pathsep.join(paths), **loaded, **options}


def compiler() -> str:
    """GCC: its sanitizers and gcov are what the runs are made for."""
    return program(os.environ.get("CXX", "g++"), "Install it (Debian: apt-get install g++), or set CXX to a GCC.")


def library(name: str) -> str:
    """The path of a library of the compiler."""
    path = run([compiler(), f"-print-file-name={name}"]).stdout.strip()
    if not Path(path).is_absolute():
        raise CannotWatchError(f"{compiler()} has no {name}. Install GCC's sanitizers, or set CXX to a GCC that has them.")
    return path
