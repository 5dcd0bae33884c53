"""Builds of the core with sanitizers or gcov, and the environment variables to run Python with them."""

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
    """Raised if a program or library is missing, or if a build or a run fails."""


def program(name: str, hint: str) -> str:
    """Return the path of a program. The environment of this Python is searched first."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise CannotWatchError(f"{name} was not found. {hint}")
    return found


def run(command: Sequence[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command. If it fails, raise an error with its output."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}"
        raise CannotWatchError(
            f"{' '.join(str(part) for part in command)}\nfailed with exit code {done.returncode}:\n{said[-20_000:]}"
        )
    return done  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Build:
    """One build of the core: its kind (``watch``) and its folder."""

    watch: str
    folder: Path

    @property
    def core(self) -> Path:
        """Path of the module that Python loads."""
        return self.folder / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"

    def make(self, targets: Sequence[str]) -> None:
        """Configure and build the targets. Targets that are up to date are not built again."""
        try:
            import nanobind
        except ImportError as error:
            raise CannotWatchError(
                "nanobind, which is needed to build the core, was not found. Run: pip install nanobind."
            ) from error
        cmake = program("cmake", "Run: pip install cmake ninja.")
        settings = {
            "FCCA_WATCH": self.watch,
            "FCCA_INSTRUCTIONS": "ON",
            "FCCA_FAILURES": "ON",
            "CMAKE_BUILD_TYPE": "Debug",
            "CMAKE_MAKE_PROGRAM": program("ninja", "Run: pip install cmake ninja."),
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
        """Return environment variables that make Python and its subprocesses load this core.

        The libraries ``preloaded`` are loaded before all others.
        """
        paths = [str(ROOT / "sanitizers" / "watched"), *filter(None, [os.environ.get("PYTHONPATH")])]
        libraries = " ".join(library(name) for name in preloaded)
        loaded = {"LD_PRELOAD": libraries} if preloaded else {}
        return {**os.environ, "FCCA_CORE": str(self.core), "PYTHONPATH": os.pathsep.join(paths), **loaded, **options}


def compiler() -> str:
    """Return the path of GCC, which has the sanitizers and gcov."""
    return program(os.environ.get("CXX", "g++"), "Install it (Debian: apt-get install g++), or set CXX to a GCC.")


def library(name: str) -> str:
    """Return the path of a library of the compiler."""
    path = run([compiler(), f"-print-file-name={name}"]).stdout.strip()
    if not Path(path).is_absolute():
        raise CannotWatchError(f"{compiler()} has no {name}. Install GCC's sanitizers, or set CXX to a GCC that has them.")
    return path
