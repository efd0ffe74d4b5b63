"""Where a mistake shows and where it does not, in words: one output of two, one kind of case."""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.outcome import Outcome, Status

KINDS = {
    "ragged": "sizes that are not whole blocks",
    "half": "half precision",
    "S_q ≠ S_k": "S_q ≠ S_k",
    "heads": "several heads",
    "batch": "several batches",
    "padded D": "a D that is no power of two",
    "large": "large values",
    "strided": "strided inputs",
    "−inf": "scores of −∞",
}
"""What a case's tags say, after «only with» or «only without»."""

Questions = set[tuple[str, str]]


def scope_of(explained: Questions, denied: Questions, judged: Sequence[Outcome], asked: Questions) -> str:
    """A sentence about where the mistake holds; empty if it holds everywhere it could show."""
    left = asked - explained
    if left:
        cases = {case for case, _ in asked}
        whole = {case for case in cases if not any(q[0] == case for q in left)}
        return (
            f"It explains {len(whole)} of the {len(cases)} wrong cases; in the others there is more to find."
        )
    outputs = {output for _, output in asked}
    spared = {output for _, output in denied} - outputs
    if spared:
        shows, are = "shows" if len(outputs) == 1 else "show", "is" if len(spared) == 1 else "are"
        return f"Only {_list(outputs)} {shows} it; {_list(spared)} {are} right."
    if not denied:
        return ""
    return kind_of({case for case, _ in asked}, judged) or ""


def kind_of(failing: set[str], judged: Sequence[Outcome]) -> str | None:
    """What the failing cases have in common, and the passing ones have not; None if there is nothing."""
    wrong = [o.case for o in judged if o.case.name in failing]
    right = [o.case for o in judged if o.status is Status.PASS]
    for tag, words in KINDS.items():
        if all(tag in c.tags for c in wrong) and not any(tag in c.tags for c in right):
            return f"It happens only with {words}: the other cases are right."
        if right and all(tag in c.tags for c in right) and not any(tag in c.tags for c in wrong):
            return f"It happens only without {words}: the other cases are right."
    return None


def together(sentences: Sequence[str], scope: str, parts: Sequence[str] = ()) -> str:
    """One or two explanations as a paragraph."""
    if len(sentences) == 1:
        return f"{sentences[0]} {scope}".strip()
    parts = parts or [""] * len(sentences)
    told = [f"{s} {part}".strip() for s, part in zip(sentences, parts, strict=True)]
    return f"Two things at once. First: {told[0]} Second: {told[1]} {scope}".strip()


def _list(names: set[str]) -> str:
    return " and ".join(sorted(names))
