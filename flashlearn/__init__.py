"""FlashLearn: a course in writing fast GPU kernels, and a grader that says what went wrong.

    >>> import flashlearn
    >>> report = flashlearn.check("scaled_add", scaled_add)
    >>> print(report)

On a machine without a GPU, importing this package also routes triton's launches to its observed interpreter:
kernels run on CPU tensors, and a wild pointer gives a sentence instead of a crash.

Names are loaded at their first use: `flashlearn doctor` must run, and report what is missing, on a machine
where torch or triton is not installed. There the symbolic exercises can still be checked, with sympy alone.
"""

from __future__ import annotations

import importlib
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from flashlearn import outdated_lesson
from flashlearn.later import is_installed

__version__ = "0.1.0"

_HOMES = {
    "CheckFailed": "course.check",
    "CheckStopped": "course.check",
    "CourseError": "course.files",
    "KernelCrash": "interpreter.errors",
    "LaunchError": "interpreter.errors",
    "OutOfBounds": "interpreter.errors",
    "Report": "report",
    "TraceError": "tracing",
    "UnknownExercise": "lessons",
    "attention": "kernels.model_attention.attention",
    "check": "course.check",
    "hint": "course.hints",
    "observing": "interpreter.route",
    "recall": "course.recall",
    "register_in_transformers": "kernels.model_attention.hugging_face",
    "reset": "course.resetting",
    "solution": "course.solutions",
    "status": "course.status",
    "trace": "tracing",
    "use": "course.answers",
}

__all__ = ["DEVICE", "kernels", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "DEVICE":  # where lessons put their tensors: "cuda" where there is a GPU, else "cpu"
        from flashlearn.machine.device import default, older_gpu_sentence

        value = default()
        if sentence := older_gpu_sentence():
            print(sentence)  # once in a notebook: its first cell asks for DEVICE, and the answer is kept
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"flashlearn.{_HOMES[name]}"), name)
    elif name == "kernels":
        value = importlib.import_module("flashlearn.kernels")
    else:
        close = get_close_matches(name, __all__, n=3)
        meant = f": did you mean {' or '.join(close)}?" if close else ""
        # without obj=, Python does not add a suggestion of its own
        raise AttributeError(f"flashlearn has no {name!r}{meant}", name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What is public, and nothing else: this is what Tab offers."""
    return sorted(__all__)


def _is_the_command() -> bool:
    """True in the `flashlearn` command, in Jupyter's server and in nbconvert, which launch no kernels."""
    command = Path(sys.argv[0])
    if command.name == "__main__.py" and command.parent.name in ("jupyterlab", "nbconvert", "notebook"):
        return True
    commands = ("flashlearn", "jupyter", "jupyter-lab", "jupyter-nbconvert", "jupyter-notebook")
    return command.stem in commands or sys.orig_argv[1:3] == ["-m", "flashlearn"]


def _route_launches() -> None:
    if not (is_installed("torch") and is_installed("triton")):
        return  # formulas are checked without them, and there is no launch to route
    from flashlearn.interpreter.route import install
    from flashlearn.machine.device import has_gpu

    if not has_gpu():
        install()


outdated_lesson.install()
if not _is_the_command():
    _route_launches()
