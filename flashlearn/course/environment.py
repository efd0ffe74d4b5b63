"""What works on this machine, and what to do about the rest: one small function per check.

    >>> for check in report():
    ...     print(check.ok, check.name, check.found, check.advice)

`ok` is None for information that is neither good nor bad. Nothing here raises, or takes longer than importing
torch.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashlearn.machine import device

PAIRS = {"2.11": "3.6", "2.12": "3.7", "2.13": "3.7", "2.14": "3.8", "2.15": "3.9"}
"""Releases of torch, each with the triton it was published with: the range that pyproject.toml declares."""

PINNED = "torch 2.13.0 with triton 3.7.1"
INSTALL = f"Install the pinned environment, {PINNED}: `make setup` in a clone, else with pip."
PACKAGES = ("sympy", "matplotlib", "ml_dtypes", "jupyterlab", "ipykernel", "jupytext", "nbclient", "rich")
OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Check:
    """One line of `flashlearn doctor`: what was looked at, what was found, what to do if it is not `ok`."""

    name: str
    ok: bool | None
    found: str
    advice: str = ""


def report() -> list[Check]:
    """Every check, in the order in which problems are best fixed."""
    return [_guarded(name, check) for name, check in CHECKS.items()]


def lessons() -> list[tuple[str, str]]:
    """For each lesson what this machine does with its kernels: its number, and a few words.

    Nothing where torch or triton is missing: then no kernel runs, and the checks above say why.
    """
    from flashlearn.exercise import Kind
    from flashlearn.lessons import Listed, listed
    from flashlearn.lessons import lessons as all_lessons

    if any(isinstance(one, Listed) for one in listed().values()):
        return []
    return [
        (
            number,
            _what_is_done(
                [one.judged.needs for one in exercises if one.kind is Kind.KERNEL],
                [
                    one.judged.needs
                    for one in exercises
                    if one.kind is Kind.KERNEL and one.timed.case is not None
                ],
            ),
        )
        for number, exercises in all_lessons().items()
    ]


def _what_is_done(kernels: list[int], timed: list[int]) -> str:
    """What happens to kernels, and to those that are timed, that need these compute capabilities."""
    if not kernels:
        return "checked on the processor: it has no kernels"
    compiled, clocked = sum(map(device.runs, kernels)), sum(map(device.runs, timed))
    if not compiled:
        why = f", since they need capability {min(kernels) / 10:.1f}" if device.has_gpu() else ""
        return f"observed{why}" + (", times predicted" if timed and not why else "")
    part = "" if compiled == len(kernels) else f" ({compiled} of {len(kernels)} exercises)"
    return f"observed, compiled{part}" + (", timed" if clocked else "")


def _guarded(name: str, check: Callable[[], tuple]) -> Check:
    """A check that raises unexpectedly is reported as a failed check, without a traceback."""
    try:
        return Check(name, *check())
    except Exception as error:
        return Check(name, False, f"{type(error).__name__}: {error}", INSTALL)


def _version(package: str) -> str:
    """The installed version without a build's suffix such as +cpu; empty if it is not installed."""
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return ""


def _python() -> tuple:
    found = platform.python_version()
    if sys.version_info >= OLDEST_PYTHON:
        return True, found
    return False, found, "Install Python 3.11 or newer, then `make setup`."


def _system() -> tuple:
    found = f"{platform.system()} {platform.machine()}"
    if sys.platform == "linux":
        return True, found
    other = "WSL 2" if sys.platform == "win32" else "Linux in a virtual machine"
    return (
        False,
        found,
        f"triton is published for Linux only: use the container in `.devcontainer/`, or {other}.",
    )


def _torch() -> tuple:
    found = _version("torch")
    if not found:
        return False, "not installed", INSTALL
    if _release(found) < _release(min(PAIRS, key=_release)):
        return False, found, f"The course needs torch {min(PAIRS, key=_release)} or newer. {INSTALL}"
    return True, found


def _release(version: str) -> tuple[int, ...]:
    """2.13.0 as (2, 13)."""
    return tuple(int(part) for part in version.split(".")[:2])


def _triton() -> tuple:
    torch, triton = _version("torch"), _version("triton")
    if not triton:
        return False, "not installed", INSTALL
    found = f"{triton} with torch {torch or '(missing)'}"
    expected = PAIRS.get(".".join(torch.split(".")[:2]))
    if expected is None or _release(triton) not in map(_release, PAIRS.values()):
        first, last = min(PAIRS, key=_release), max(PAIRS, key=_release)
        known = f"torch {first} with triton {PAIRS[first]} to torch {last} with triton {PAIRS[last]}"
        return None, found, f"This pair is outside what the course is made for, {known}. {INSTALL}"
    if _release(triton) == _release(expected):
        return True, f"{triton}, the version for torch {torch}"
    if _bundles_triton():
        return False, found, f"torch {torch} needs triton {expected}. {INSTALL}"
    return True, f"{triton}; this build of torch asks for none, and the course works with it"


def _bundles_triton() -> bool:
    """Whether the installed torch asks for a triton: builds for CUDA do, builds for the CPU do not."""
    wanted = importlib.metadata.requires("torch") or ()
    return any(re.match(r"triton\b", requirement) for requirement in wanted)


def _numpy() -> tuple:
    found = _version("numpy")
    if found:
        return True, found
    return (
        False,
        "not installed",
        "triton's interpreter needs NumPy, which torch does not install: `make setup`.",
    )


def _packages() -> tuple:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return False, f"missing: {', '.join(missing)}", INSTALL
    return True, "all that the course uses"


def _gpu() -> tuple:
    import torch

    driver = _driver()
    if torch.version.cuda is not None and torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        found = f"{torch.cuda.get_device_name()}, capability {major}.{minor}, driver {driver or 'unknown'}"
        if device.has_gpu():
            return True, found
        return None, found, "Older than compute capability 8.0: kernels run observed, on the processor."
    if not driver:
        return (
            None,
            "none",
            "None is needed: kernels run observed, and are still compiled for GPUs that are not here.",
        )
    found = f"driver {driver}, but torch sees no GPU"
    if torch.version.cuda is None:
        return (
            False,
            found,
            "This torch was built without CUDA: `TORCH_INDEX=none make setup` installs one with CUDA.",
        )
    return False, found, f"torch was built for CUDA {torch.version.cuda}: the driver may be too old for it."


def _driver() -> str:
    """The NVIDIA driver's version as the kernel module states it; empty without one."""
    for path in (Path("/sys/module/nvidia/version"), Path("/proc/driver/nvidia/version")):
        if path.is_file():
            found = re.search(r"\d+\.\d+(\.\d+)?", path.read_text())
            return found[0] if found else "of unknown version"
    return "of unknown version" if shutil.which("nvidia-smi") else ""


def _mode() -> tuple:
    if device.mode() == "compiled":
        return True, "compiled: a check runs observed first, then on the GPU"
    return True, "observed: a check runs in triton's interpreter, under our observer"


def _interpret() -> tuple:
    value = os.environ.get("TRITON_INTERPRET", "")
    if value in ("", "0"):
        return True, "not set"
    if device.has_gpu():
        return (
            False,
            f"set to {value}",
            "With it nothing runs compiled on the GPU: unset it and restart Jupyter.",
        )
    return (
        None,
        f"set to {value}",
        "It is not needed and changes little: checks are observed anyway, and budgets come from a separate "
        "process, without it.",
    )


def _compiler() -> tuple:
    """triton compiles a small C stub for each kernel that is launched on a GPU."""
    compiler = next((c for c in (os.environ.get("CC"), "gcc", "clang", "cc") if c and shutil.which(c)), None)
    header = Path(sysconfig.get_paths()["include"], "Python.h").is_file()
    found = f"{compiler or 'none'}, Python headers {'present' if header else 'missing'}"
    if compiler and header:
        return True, found
    if not device.has_gpu():
        return None, found, "Neither is needed without a GPU."
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return False, found, f"triton needs both to launch on the GPU: `apt install gcc python{version}-dev`."


def _gpu_compiler() -> tuple:
    """NVIDIA's tools inside triton's wheel, from which a kernel's budget comes."""
    spec = importlib.util.find_spec("triton")
    tools = Path(spec.origin).parent / "backends/nvidia/bin" if spec and spec.origin else Path()
    missing = [tool for tool in ("ptxas", "cuobjdump") if not os.access(tools / tool, os.X_OK)]
    if missing:
        return False, f"triton lacks {' and '.join(missing)}", f"Reports come without budgets. {INSTALL}"
    return True, "part of triton, for six generations of GPUs; it needs none of them"


def _observer() -> tuple:
    from flashlearn.interpreter import selftest

    problem = selftest.run()
    if problem:
        return False, problem, INSTALL
    return True, "its hooks work with this triton"


def _jupyter() -> tuple:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return False, "no kernel named python3", f"`{sys.executable} -m ipykernel install --user` adds it."
    if "/" in command and Path(command).resolve() != Path(sys.executable).resolve():
        return (
            None,
            command,
            "Notebooks would run in a Python other than this one: start Jupyter with `make lab`.",
        )
    return True, "python3, in this environment"


def _progress() -> tuple:
    from flashlearn.course import progress

    home = Path(progress.home())
    existing = _nearest(home)
    free = shutil.disk_usage(existing).free
    found = f"{home}, {free / 2**30:.1f} GiB free"
    if not os.access(existing, os.W_OK):
        return False, found, "You cannot write to it: set FLASHLEARN_HOME to a folder that you can write to."
    if free < 200 * 2**20:
        return False, found, "Less than 200 MiB are free: make room, or set FLASHLEARN_HOME elsewhere."
    return True, found


def _explaining() -> tuple:
    """The grader's own failures while it explained mistakes: no verdict depends on them."""
    from flashlearn.course import failure_log

    seen = failure_log.entries()
    if not seen:
        return True, "no failure while an answer was explained"
    last, count = seen[-1], seen[-1].number
    found = (
        f"while explaining {last.exercise}, {last.stage!r} failed on {last.time[:16].replace('T', ' at ')} "
        f"({last.error}); {'once so far' if count == 1 else f'{count} failures so far'}. The verdicts are "
        "not affected."
    )
    return (
        None,
        found,
        f"Nothing needs to be done here; an issue with {failure_log.path()} would help us fix it.",
    )


def _cache() -> tuple:
    from triton import knobs

    if os.access(_nearest(Path(knobs.cache.dir)), os.W_OK):
        return True, knobs.cache.dir
    advice = "Without it every kernel is recompiled: set TRITON_CACHE_DIR to a folder that you can write to."
    return None, f"{knobs.cache.dir} cannot be written to", advice


def _nearest(folder: Path) -> Path:
    """The folder, or the closest one above it that exists."""
    return next(f for f in (folder, *folder.absolute().parents) if f.exists())


CHECKS: dict[str, Callable[[], tuple]] = {
    "Python": _python,
    "system": _system,
    "torch": _torch,
    "triton": _triton,
    "NumPy": _numpy,
    "packages": _packages,
    "GPU": _gpu,
    "mode": _mode,
    "TRITON_INTERPRET": _interpret,
    "C compiler": _compiler,
    "GPU compiler": _gpu_compiler,
    "observer": _observer,
    "Jupyter kernel": _jupyter,
    "progress": _progress,
    "explaining": _explaining,
    "compiled kernels": _cache,
}
"""Each returns the fields of a `Check` after its name: ok, found, and advice if there is any."""
