"""Modules that moved, under their old names: a copy of a lesson made before the move still runs.

    >>> from flashlearn.pictures import tour
    FutureWarning: flashlearn.pictures.tour is now flashlearn.lessons.lesson_00_tour.pictures: ...

What notebooks have imported is in MOVED, nothing else. All of this goes with the release after next.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LESSONS = "flashlearn.lessons"
SHARED = "flashlearn.lessons.shared"

MOVED = {
    "flashlearn.assembling": "flashlearn.course.assembling",
    "flashlearn.clinic": f"{LESSONS}.lesson_10_clinic.instruments",
    "flashlearn.device": "flashlearn.machine.device",
    "flashlearn.environment": "flashlearn.course.environment",
    "flashlearn.example": f"{SHARED}.example",
    "flashlearn.exercises": LESSONS,
    "flashlearn.exercises.broken_07": f"{LESSONS}.lesson_07_dq.faulty_kernels",
    "flashlearn.exercises.broken_08": f"{LESSONS}.lesson_08_dk_dv.faulty_kernels",
    "flashlearn.exercises.lesson_05": f"{LESSONS}.lesson_05_execution_model.exercises",
    "flashlearn.kernels.probes": f"{LESSONS}.lesson_05_execution_model.probes",
    "flashlearn.pictures": LESSONS,
    "flashlearn.pictures.attention_backward": f"{LESSONS}.lesson_03_attention_backward.pictures",
    "flashlearn.pictures.backward": f"{SHARED}.backward_pictures",
    "flashlearn.pictures.clinic": f"{LESSONS}.lesson_10_clinic.pictures",
    "flashlearn.pictures.flash_forward": f"{LESSONS}.lesson_06_flash_forward.pictures",
    "flashlearn.pictures.gradients": f"{LESSONS}.lesson_01_gradients.pictures",
    "flashlearn.pictures.logsumexp": f"{LESSONS}.lesson_04_logsumexp.pictures",
    "flashlearn.pictures.machine": f"{LESSONS}.lesson_05_execution_model.machine_pictures",
    "flashlearn.pictures.softmax": f"{LESSONS}.lesson_02_softmax.pictures",
    "flashlearn.pictures.tour": f"{LESSONS}.lesson_00_tour.pictures",
    "flashlearn.pictures.traffic": f"{LESSONS}.lesson_05_execution_model.traffic_pictures",
    "flashlearn.pictures.training": f"{LESSONS}.lesson_09_into_pytorch.pictures",
    "flashlearn.portable": "flashlearn.compiler",
    "flashlearn.portable.listing": "flashlearn.compiler.listing",
    "flashlearn.reference": f"{SHARED}.reference",
    "flashlearn.training": f"{LESSONS}.lesson_09_into_pytorch.training",
}
"""Old name → new name."""

PACKAGES = {old.rpartition(".")[0] for old in MOVED} & MOVED.keys()
"""Old names that have modules below them."""

_said: list[str] = []


class Finder:
    """The last on sys.meta_path: it is asked only for what nobody else has."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Of a module that moved; None for any other."""
        return ModuleSpec(name, Finder, is_package=name in PACKAGES) if name in MOVED else None

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """An empty module, as always; `exec_module` has the new one take its place."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the new module under the old name: one object, whichever name it was imported by."""
        old, new = module.__name__, importlib.import_module(MOVED[module.__name__])
        if old not in PACKAGES:
            _say(old)
            sys.modules[old] = new
            return

        def forward(name: str) -> Any:
            if name.startswith("__"):  # the import system's questions are about the old name
                raise AttributeError(f"module {old!r} has no attribute {name!r}")
            value = getattr(new, name)
            _say(old)
            return value

        # with the new package itself here, its own modules would be loaded again under the old name
        module.__getattr__ = forward


def install() -> None:
    """Serve the old names from here on."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)


def _say(old: str) -> None:
    """Once in a session, where the import stands: a lesson's first cell has up to eight of them."""
    if _said:
        return
    _said.append(old)
    frame = sys._getframe()
    while frame.f_back and _imports(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    number = _lesson(MOVED[old])
    reset = f"`flashlearn reset {number}`" if number else "`flashlearn reset`, with the lesson's number,"
    text = f"{old} is now {MOVED[old]}: {reset} brings today's lesson and keeps your copy in work/old/."
    warnings.warn_explicit(text, FutureWarning, frame.f_code.co_filename, frame.f_lineno)


def _imports(name: str) -> bool:
    return name in (__name__, "flashlearn") or name.startswith("importlib")


def _lesson(new: str) -> str:
    """The lesson's number, by the new name or by the notebook that Jupyter has open; "" if neither says."""
    found = re.search(r"lesson_(\d\d)_", new)
    found = found or re.search(r"(\d\d)_\w+\.ipynb$", os.environ.get("JPY_SESSION_NAME", ""))
    return found[1] if found else ""
