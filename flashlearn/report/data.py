"""What a check found, as plain data: everything that a report shows is computed from it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flashlearn.exercise import Case, Exercise
from flashlearn.outcome import Finding, Outcome, Status

if TYPE_CHECKING:
    from flashlearn.compiler import Budget
    from flashlearn.judging.speed import Timing
    from flashlearn.report.progress_line import ProgressLine


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult:
    """The result of a check.

    `budgets` may still be computed when the result is shown. They are of the kernels that were launched
    for the case `compiled`, or would be. `hints_taken` counts from 0 to 3. A `demo` is a lesson's
    demonstration and is not recorded. `follows` says what comes after this exercise, and `links` has the
    addresses of exercises that it names, by their names. `progress_line` showed the progress of the
    check, if it took long. `stale` says that an earlier version than the one on the screen was judged,
    and why; `notes` are remarks on the answer's source text.
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
    links: tuple[tuple[str, str], ...] = ()
    stale: str = ""
    notes: tuple[str, ...] = ()
    progress_line: ProgressLine | None = None

    @cached_property
    def status(self) -> Status:
        """The first status that applies to any case; PASS if all cases that could run here passed."""
        statuses = {outcome.status for outcome in self.outcomes}
        if statuses == {Status.PASS, Status.NEEDS_GPU}:
            return Status.PASS
        return next((status for status in Status if status in statuses), Status.TODO)

    @property
    def passed(self) -> bool:
        """True if every case that can run on this machine passed, and there was one."""
        return self.status is Status.PASS

    @property
    def principal(self) -> Outcome | None:
        """The first case that has the result's status: the one that the verdict is about."""
        return next((outcome for outcome in self.outcomes if outcome.status is self.status), None)

    @property
    def reviewed(self) -> bool:
        """True if every case passed and a review, the last of the outcomes, did not."""
        return self.finding is not None and self.finding.kind.beyond_cases

    @property
    def case_outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes that are cases, without that of a review."""
        return self.outcomes[:-1] if self.reviewed else self.outcomes

    @property
    def budgets_if_ready(self) -> tuple[Budget, ...] | None:
        """The compilers' figures; None as long as they are computed, or if there are none."""
        future = self.budgets
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()
