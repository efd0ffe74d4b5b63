"""The timeline of one program of a Gluon kernel: what each partition did when, and what it waited for.

    >>> flashlearn.trace(specialised_matmul, a, b).timeline          # a picture in Jupyter
    >>> print(flashlearn.trace(specialised_matmul, a, b).timeline)   # what each partition waited for

Times are cycles of the timing model (flashlearn/interpreter/gluon/timeline.py).
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape

from flashlearn.observation import TimelineEvent
from flashlearn.tracing import timeline_svg
from flashlearn.tracing.timeline_rows import Scene, scene
from flashlearn.tracing.waits import WaitSummary, count, sentences, waits


@dataclass(frozen=True, eq=False, repr=False)
class ProgramTimeline:
    """The events of one program; `window` is the drawn part, in cycles (None: as much as is legible)."""

    events: tuple[TimelineEvent, ...]
    kernel: str
    program: tuple[int, int, int]
    window: tuple[float, float] | None = None
    dropped: int = 0

    def between(self, begin: float, end: float) -> ProgramTimeline:
        """The same program with another window. Raises ValueError for one that is empty."""
        if not 0 <= begin < end or begin >= self.cycles:
            raise ValueError(
                f"A window from {begin:g} to {end:g}: expected 0 ≤ begin < end, and begin below "
                f"{count(self.cycles)}, where the program ends."
            )
        return replace(self, window=(begin, min(end, self.cycles)))

    @property
    def cycles(self) -> float:
        """How long the program takes by the model."""
        return max((event.end for event in self.events), default=0.0)

    @property
    def waits(self) -> list[WaitSummary]:
        """What each partition waited for in which line; the longest first."""
        return waits(self.events)

    @property
    def sentences(self) -> list[str]:
        """One for each partition: how long it waited, where most of it."""
        return sentences(self.events)

    @cached_property
    def scene(self) -> Scene:
        """What is drawn."""
        return scene(self.events, self.window, timeline_svg.PLOT)

    @property
    def shown(self) -> str:
        """Which cycles of how many the picture shows."""
        drawn = self.scene
        if not self.shown_in_part:
            return f"cycles 0 to {count(drawn.whole)}"
        return f"cycles {count(drawn.begin)} to {count(drawn.end)} of {count(drawn.whole)}"

    @property
    def shown_in_part(self) -> bool:
        """True if the picture leaves cycles out."""
        return self.scene.begin > 0 or self.scene.end < self.scene.whole

    @property
    def description(self) -> str:
        """What the picture shows, as text for screen readers."""
        tracks = ", ".join(dict.fromkeys(row.track for row in self.scene.rows))
        return (
            f"Timeline of program {self.program} of {self.kernel}, {self.shown} of a model, with tracks for "
            f"{tracks}. {' '.join(self.sentences)}"
        )

    def svg(self) -> str:
        """The picture."""
        return timeline_svg.svg(self.scene)

    def element(self) -> str:
        """The picture as an element of a page."""
        source = base64.b64encode(self.svg().encode()).decode()
        alt = escape(self.description)
        return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{source}">'

    def __str__(self) -> str:
        return "\n".join((f"{self.kernel}, program {self.program}: {self.shown}", *self.sentences))

    def __repr__(self) -> str:
        return f"Picture: {self.description}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        """As HTML, since a bare image has no alternative text."""
        return {"text/html": self.element(), "text/plain": repr(self)}, {}
