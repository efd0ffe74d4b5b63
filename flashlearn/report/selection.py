"""Parts of a report by name: an output, a case, a head; errors list the parts that exist."""

from __future__ import annotations

import difflib

from flashlearn.exercise import Kind
from flashlearn.later import numpy as np
from flashlearn.outcome import Outcome, OutputCheck
from flashlearn.report.data import CheckResult
from flashlearn.report.panels import Split
from flashlearn.report.tilemap import comparable


class NoSuchPart(LookupError):
    """The report has no such output, case, head or tile; the message names those it has."""

    def _render_traceback_(self) -> list[str]:
        """What Jupyter shows in place of a traceback through this package."""
        return [str(self)]


def find(result: CheckResult, output: str | None, case: str | int | None) -> tuple[Outcome, OutputCheck]:
    """The first wrong output that fits, else the first right one, with its case.

    Raises NoSuchPart where nothing of that name was compared element by element.
    """
    if result.exercise.kind is Kind.SYMBOLIC:
        raise NoSuchPart(
            f"The answers to {result.exercise.name} are formulas: there are no elements to show."
        )
    if output is not None and output not in result.exercise.outputs:
        raise NoSuchPart(
            f"There is no output called {output!r}: {result.exercise.name} returns "
            f"{', '.join(result.exercise.outputs)}."
        )
    outcomes = _cases(result, case)
    found = [(o, c) for o in outcomes for c in o.outputs if output in (None, c.name)]
    usable = [(o, c) for o, c in found if comparable(c)]
    if not usable:
        raise NoSuchPart(_why_not(outcomes, found, output, case))
    return next(((o, c) for o, c in usable if not c.ok), usable[0])


def _cases(result: CheckResult, case: str | int | None) -> list[Outcome]:
    outcomes = list(result.outcomes)
    if case is None:
        return outcomes
    if isinstance(case, int):
        if not 0 <= case < len(outcomes):
            count = len(outcomes)
            raise NoSuchPart(f"There is no case {case}: this report has {count}, counted from 0.")
        return [outcomes[case]]
    fits = [o for o in outcomes if o.case.name == case]
    fits += [o for o in outcomes if o.mode == "compiled" and f"{o.case.name}, compiled" == case]
    if fits:
        return fits
    names = list(dict.fromkeys(o.case.name for o in outcomes))
    close = difflib.get_close_matches(str(case), names, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    raise NoSuchPart(
        f"This report has no case called {case!r}: {guess}"
        f"{'There are' if guess else 'there are'} {', '.join(map(repr, names))}."
    )


def _why_not(
    outcomes: list[Outcome],
    found: list[tuple[Outcome, OutputCheck]],
    output: str | None,
    case: str | int | None,
) -> str:
    """Why nothing can be shown element by element."""
    where = f" in case “{outcomes[0].case.name}”" if case is not None and outcomes else ""
    problem = next((c.problem for _, c in found if c.problem), "")
    what = output or "no output"
    if problem:
        return f"{what if output else 'The result'} cannot be shown element by element{where}: {problem}."
    if found:
        return f"The values of {output or 'the outputs'}{where} were not kept: there are too many of them."
    status = outcomes[0].status.value if outcomes else "not started"
    return (
        f"There are no values to show{where}: the check ended (verdict: {status}) before there was a result."
    )


def head_number(parts: Split, head: int | tuple[int, ...] | None, output: str) -> int | None:
    """A head as its number among the panels (or rows, where rows are heads); None for the worst."""
    if head is None:
        return None
    lead = parts.down or parts.lead or (1,)
    count = int(np.prod(lead))
    if isinstance(head, tuple | list):
        inside = len(head) == len(lead) and all(0 <= i < n for i, n in zip(head, lead, strict=True))
        if inside:
            return int(np.ravel_multi_index(tuple(head), lead))
    elif 0 <= head < count:
        return int(head)
    last = f"({', '.join(str(n - 1) for n in lead)})" if len(lead) > 1 else f"{count - 1}"
    first = f"({', '.join('0' for _ in lead)})" if len(lead) > 1 else "0"
    nouns = f"{parts.noun}s" if count != 1 else parts.noun
    also = f", or 0 to {count - 1}" if len(lead) > 1 else ""
    raise NoSuchPart(f"There is no head {head}: {output} has {count} {nouns}, {first} to {last}{also}.")
