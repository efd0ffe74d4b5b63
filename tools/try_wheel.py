#!/usr/bin/env python3
"""The course's wheel in an environment that has its own torch and triton: do all solutions run there?

    python tools/try_wheel.py                     # a new environment, with what pip chooses for the wheel
    python tools/try_wheel.py torch==2.11.0       # a new one, this first: torch brings its triton
    python tools/try_wheel.py --python ~/env/bin/python 00 02     # an environment that you have; two lessons

The wheel is built from this clone and installed. From then on nothing of the clone is on the path, and the
current folder is an empty one: `flashlearn lessons` puts the lessons there, and `jupyter execute` runs each
solved lesson from the wheel's own data. A check that fails is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 900  # for one cell
OURS = ("PYTHONPATH", "PYTHONHOME", "JUPYTER_", "IPYTHON", "FLASHLEARN_", "TRITON_")


def main() -> int:
    """Install, run, print a line for each lesson; the number of lessons that failed."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("what", nargs="*", help="requirements such as torch==2.11.0, and lessons such as 02")
    asked.add_argument("--python", type=Path, help="use this environment's Python instead of a new one")
    asked.add_argument("--installed", action="store_true", help="the wheel is installed there already")
    arguments = asked.parse_args()
    lessons = {one for one in arguments.what if re.fullmatch(r"\d\d", one)}
    with tempfile.TemporaryDirectory(prefix="flashlearn-wheel-") as folder:
        python = arguments.python.absolute() if arguments.python else new_environment(Path(folder) / "env")
        if not arguments.installed:
            install(python, Path(folder) / "dist", [one for one in arguments.what if one not in lessons])
        return run_solutions(python, Path(folder) / "course", lessons)


def new_environment(folder: Path) -> Path:
    """The Python of a new environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def install(python: Path, dist: Path, first: list[str]) -> None:
    """Install the requirements asked for, then the wheel with whatever is still missing."""
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(dist), str(ROOT)], check=True, cwd="/")
    if first:
        subprocess.run([*pip, "install", *first], check=True, cwd="/")
    subprocess.run([*pip, "install", *map(str, dist.glob("*.whl"))], check=True, cwd="/")


def run_solutions(python: Path, course: Path, only: set[str]) -> int:
    """Run each solved lesson in `course`, which is made; how many of them failed."""
    course.mkdir()
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = quiet | {
        "HOME": str(course),  # neither kernels nor settings nor caches of this user
        "JUPYTER_PREFER_ENV_PATH": "1",
        "FLASHLEARN_STRICT": "1",
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    }

    def call(*command: str) -> subprocess.CompletedProcess:
        return subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)

    about = (
        "import flashlearn, torch, triton; print(torch.__version__, triton.__version__, flashlearn.__file__)"
    )
    found = call(str(python), "-P", "-c", about).stdout.split()
    if len(found) != 3 or Path(found[2]).is_relative_to(ROOT):
        print(f"The wheel is not what is imported there: {found}")
        return 1
    print(f"torch {found[0]}, triton {found[1]}, {python}")
    print(call(str(python.parent / "flashlearn"), "lessons", ".").stdout.strip())
    failed = 0
    for path in sorted((course / "work" / "solutions").glob("[0-9]*.ipynb")):
        if only and path.name[:2] not in only:
            continue
        started = time.monotonic()
        done = call(str(python.parent / "jupyter"), "execute", f"--timeout={SECONDS}", str(path))
        failed += done.returncode != 0
        word = "failed" if done.returncode else "ran"
        print(f"{path.stem:24} {word} in {time.monotonic() - started:.0f} s", flush=True)
        if done.returncode:
            print("\n".join(done.stderr.splitlines()[-30:]), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
