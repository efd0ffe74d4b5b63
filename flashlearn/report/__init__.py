"""What a learner sees: the only package that renders, as an HTML card in Jupyter and as text elsewhere.

    >>> report = flashlearn.check("softmax_forward", softmax_forward)
    >>> report.passed, report.status.value
    (False, 'out of bounds')
    >>> print(report)                        # the same words as the card's
    ✗ Out of bounds   softmax_forward   Softmax, one row per program
    ...

`verdict`, `verdict_sentences`, `evidence`, `source`, `cases`, `traffic`, `times` and `budgets` decide what is
said; `text`, `html`, `tilemap` and `tile_picture` how it looks. What a learner needs comes first; everything
else is folded beneath it.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flashlearn.exercise import Case, Exercise
from flashlearn.explaining import wording  # noqa: F401  puts findings into words
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.report import display, html, record, show, text, tile_values, verdict_sentences
from flashlearn.report.show import ShownMap
from flashlearn.report.small_output import Small, first_small
from flashlearn.report.tile_values import Dump
from flashlearn.report.tilemap import TileMap, first_wrong

if TYPE_CHECKING:
    from flashlearn.compiler import Budget
    from flashlearn.judging.speed import Timing
    from flashlearn.report.progress_line import Waiting

__all__ = ["Report"]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The result of a check. Shown by Jupyter as a card, by `print` as text; nothing is computed again.

    `budgets` may still be running when the report is shown: the card fills itself in when it is done. They
    are of the kernels that were launched for the case `compiled`, or would be.
    `hints_taken` counts from 0 to 3. A `demo` report is a lesson's demonstration and recorded nowhere.
    `follows` says what comes after this exercise. `waiting` showed how far the check was, if it took long.
    `stale` says that an earlier version was judged than the one on the screen, and why; `notes` what the
    answer's own text shows beside the verdict.
    """

    exercise: Exercise
    outcomes: tuple[Outcome, ...]
    finding: Finding | None = None
    timing: Timing | None = None
    budgets: Future[tuple[Budget, ...]] | None = None
    compiled: Case | None = None
    mode: str = "observed"
    demo: bool = False
    seconds: float = 0.0
    hints_taken: int = 0
    follows: str = ""
    stale: str = ""
    notes: tuple[str, ...] = ()
    waiting: Waiting | None = None

    @cached_property
    def status(self) -> Status:
        """The first status that applies to any case; PASS if all cases that could run here passed."""
        return verdict_sentences.status_of(self.outcomes)

    @property
    def passed(self) -> bool:
        """True if every case that can run on this machine passed, and there was one."""
        return self.status is Status.PASS

    @cached_property
    def sentence(self) -> str:
        """The finding in one sentence."""
        return verdict_sentences.sentence_of(self)

    @cached_property
    def tiles(self) -> TileMap | None:
        """Where the error lies in the first wrong case."""
        return first_wrong(self.exercise, self.outcomes)

    @cached_property
    def small(self) -> Small | None:
        """The first wrong output in full, where it has so few numbers that one can read them."""
        return first_small(self.exercise, self.outcomes)

    @cached_property
    def picture(self) -> bytes:
        """The tile map as PNG; empty where there is no map."""
        from flashlearn.report import tile_picture  # matplotlib: only when there is something to draw

        return tile_picture.png(self.tiles) if self.tiles is not None else b""

    def show(self, output: str | None = None, case: str | int | None = None) -> ShownMap:
        """The map of one output of one case (its name, or its number from 0): by default the first wrong one.

        Raises NoSuchPart for a name that this report does not have.

        >>> report.show("dk")
        """
        return show.shown_map(self, output, case)

    def dump(
        self,
        tile: int | tuple[int, ...] | None = None,
        output: str | None = None,
        case: str | int | None = None,
        head: int | tuple[int, ...] | None = None,
        block: int | tuple[int, int] | None = None,
    ) -> Dump:
        """Got, expected and difference of one tile, side by side; without `tile`, of the worst one.

        Tiles are the blocks that programs stored, where that was observed, else 16 × 16 elements; `block`
        asks for other ones. `head` is its number, or (batch, head). Raises NoSuchPart for what there is not.

        >>> report.dump(tile=(1, 0), output="dk", head=(0, 2))
        """
        return tile_values.dump_tile(self, tile, output, case, head, block)

    def to_dict(self) -> dict[str, Any]:
        """The report as data for JSON: no tensors, no pictures; numbers that are not finite are null."""
        return record.to_dict(self)

    def to_verdict(self) -> dict[str, Any]:
        """What comes first, as data for JSON: the verdict, its sentence, the marked line, what is next."""
        return record.to_verdict(self)

    def text(self, width: int = text.WIDTH, colour: bool = False) -> str:
        """The report for a terminal; with `colour`, verdicts and marks carry escape codes."""
        return text.render(self, width, colour)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render(self)

    def _ipython_display_(self) -> None:
        display.show(self)
