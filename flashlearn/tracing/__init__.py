"""What a kernel touches: the tiles of one program, in order, with bytes, masks and what is read again.

    >>> seen = flashlearn.trace(flash_forward, q, k, v, 0.125, program=(2, 0))
    >>> seen                                  # in Jupyter: a picture, and a slider through its steps
    >>> seen["k_ptr"].again                   # the share of K's bytes that the program asked for twice
    0.0

The launcher runs on the CPU, observed, on copies of its inputs; nothing is checked, and no progress is
recorded. `data`, `steps` and `geometry` say what it touched; `wording` puts that into sentences, `tile_maps`
and `timeline_svg` draw it, and `text` and `html` show it.
"""

from __future__ import annotations

from flashlearn.tracing.program_timeline import ProgramTimeline
from flashlearn.tracing.tracer import Trace, TraceError, trace

__all__ = ["ProgramTimeline", "Trace", "TraceError", "trace"]
