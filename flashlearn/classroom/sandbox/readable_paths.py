"""The paths that a sandboxed process may read: Python, its packages, and the parts of this one that it needs.

Excluded are the lessons with their references, the kernels that answer exercises, the grader's judging, and
everything that does not belong to Python.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
OURS = (
    "__init__.py", "exercise.py", "later.py", "observation.py", "outcome.py", "outdated_lesson.py",
    "quantity.py", "verdicts.py", "compiler", "interpreter", "machine", "processes", "running",
    "classroom/__init__.py", "classroom/sandbox", "lessons/lesson_09_into_pytorch/data",
)  # fmt: skip
SYSTEM = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/dev/null",
    "/dev/urandom", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip
"""Libraries, and what torch reads about a machine."""


def readable() -> list[str]:
    """Paths of files, and of folders with everything in them."""
    found = [*SYSTEM, *_python(), *(str(PACKAGE / name) for name in OURS)]
    return [path for path in dict.fromkeys(found) if os.path.exists(path)]


def _python() -> Iterator[str]:
    """The standard library, the interpreter, and the packages installed beside this one, one by one."""
    yield from (sys.executable, os.path.realpath(sys.executable), f"{sys.prefix}/pyvenv.cfg")
    library = Path(sysconfig.get_path("stdlib"))
    yield from _beneath(library, {"site-packages", "dist-packages"})
    yield from (str(path) for path in Path(sys.base_prefix, "lib").glob("libpython*"))
    for folder in {*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("purelib")}:
        yield from _beneath(Path(folder), {PACKAGE.name, "tests"})


def _beneath(folder: Path, without: set[str]) -> Iterator[str]:
    """Everything in a folder except what has these names."""
    if folder.is_dir():
        yield from (str(path) for path in sorted(folder.iterdir()) if path.name not in without)
