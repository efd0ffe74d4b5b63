"""The pictures of lesson 13 that a kernel draws itself: what each of its partitions did when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashlearn.tracing import ProgramTimeline, TraceError, trace


def timeline(
    function: Callable,
    *inputs: Any,
    program: Any = 0,
    launch: int | str | None = None,
    window: tuple[float, float] | None = None,
    **named: Any,
) -> ProgramTimeline:
    """The timeline of one program of a launcher's Gluon kernel: `timeline(specialised_matmul, a, b)`.

    The launcher runs observed, on copies of its inputs. `window` has the first and the last cycle to show.
    Raises TraceError if nothing in Gluon was launched, and ValueError for an empty window.
    """
    found = trace(function, *inputs, program=program, launch=launch, **named)
    if found.timeline is None:
        raise TraceError(f"{found.kernel} is no Gluon kernel: it has no partitions, and no timeline.")
    return found.timeline.between(*window) if window else found.timeline
