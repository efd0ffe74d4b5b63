"""Where a mistake shows and where it does not: one output of two, one kind of case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flashlearn.outcome import Outcome, Status

SCOPE_TAGS = ("ragged", "half", "S_q ≠ S_k", "heads", "batch", "padded D", "large", "strided", "−inf")
"""Tags of cases that a mistake may be made with, or without, alone."""


@dataclass(frozen=True)
class Scope:
    """Where a mistake holds, if not everywhere it could show.

    `kind` is "part" of the wrong cases (`share` is how many of how many, `case` the first of them), "outputs"
    (those in `shows` show it, those in `spared` do not), or "only with" and "only without", cases that have a
    `tag`.
    """

    kind: str
    share: tuple[int, int] = (0, 0)
    shows: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    tag: str = ""
    case: str = field(default="", compare=False)


Questions = set[tuple[str, str]]


def scope_of(
    explained: Questions, denied: Questions, judged: Sequence[Outcome], asked: Questions
) -> Scope | None:
    """Where the mistake holds; None if it holds everywhere it could show."""
    left = asked - explained
    if left:
        cases = {case for case, _ in asked}
        whole = {case for case in cases if not any(q[0] == case for q in left)}
        return Scope("part", share=(len(whole), len(cases)))
    outputs = {output for _, output in asked}
    spared = {output for _, output in denied} - outputs
    if spared:
        return Scope("outputs", shows=tuple(sorted(outputs)), spared=tuple(sorted(spared)))
    return kind_of({case for case, _ in asked}, judged) if denied else None


def kind_of(failing: set[str], judged: Sequence[Outcome]) -> Scope | None:
    """What the failing cases have in common, and the passing ones have not; None if there is nothing."""
    wrong = [o.case for o in judged if o.case.name in failing]
    right = [o.case for o in judged if o.status is Status.PASS]
    for tag in SCOPE_TAGS:
        if all(tag in c.tags for c in wrong) and not any(tag in c.tags for c in right):
            return Scope("only with", tag=tag)
        if right and all(tag in c.tags for c in right) and not any(tag in c.tags for c in wrong):
            return Scope("only without", tag=tag)
    return None
