"""Runs of edited texts that one stage has made, for the stages after it, which try many of the same edits."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from flashlearn.running.answer import Answer
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Edited

MOST_KEPT = 500
"""Runs that are kept of one answer; the outputs of a small case are some kilobytes."""

_known: WeakKeyDictionary[Answer, dict[tuple[str, Edited], Evidence]] = WeakKeyDictionary()


def known_or_run(answer: Answer, case: str, how: Edited, run: Callable[[], Evidence]) -> Evidence:
    """What came of this edit in this case, from an earlier run of it or from one that is made now."""
    runs = _known.setdefault(answer, {})
    if (case, how) not in runs:
        evidence = run()
        if len(runs) >= MOST_KEPT:
            return evidence
        runs[case, how] = evidence
    return runs[case, how]
