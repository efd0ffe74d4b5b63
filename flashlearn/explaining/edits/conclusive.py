"""Which findings leave the mistake open, and how they are combined with an edit that repairs everything."""

from __future__ import annotations

from flashlearn.explaining.findings.edits import AndOneEdit
from flashlearn.explaining.rules import VAGUE
from flashlearn.outcome import Finding

SETTLED = frozenset(
    {
        "declared",
        "at once",
        "masked load without other",
        "uninitialised memory",
        "undefined numbers",
        "rounded inside",
        "shape",
        "outputs exchanged",
        "sign",
        "transposed",
        "stored with other strides",
        "permuted heads",
        "added constant",
        "written twice",
        "partly written",
    }
)
"""Kinds of findings that say what was done, and not only what came of it."""

WHERE = VAGUE | {"first divergence", "departure and place", "padding counts", "with its line"}
"""Kinds beside which an edit says it all."""


def settled(finding: Finding | None) -> bool:
    """True if the mistake is named: nothing is left open, in none of its parts."""
    if finding is None or finding.partial:
        return False
    if finding.kind.name == "with its line":
        return settled(finding.parts[0])
    if finding.kind.name in ("each output", "outputs"):
        return all(map(settled, finding.parts))
    return finding.kind.name in SETTLED


def beside(finding: Finding | None, edit: Finding) -> Finding:
    """The edit alone, or after a finding that says what came of the mistake."""
    if finding is not None and finding.kind.name == "besides":
        return beside(finding.parts[0], edit)
    if finding is None or finding.partial or not edit.kind.follows:
        return edit
    if finding.kind.name == "with its line":
        return beside(finding.parts[0], edit)
    if finding.kind.name in WHERE or any(part.kind.name in WHERE for part in finding.parts):
        return edit
    return Finding(AndOneEdit((finding, edit)), edit.place, edit.fits, edit.of)
