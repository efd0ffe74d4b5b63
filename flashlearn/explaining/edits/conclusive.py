"""How an edit that repairs everything is reported beside what was found before."""

from __future__ import annotations

from flashlearn.explaining.findings.edits import AndOneEdit
from flashlearn.explaining.findings.first_divergence import WithItsLine
from flashlearn.explaining.findings.two_mistakes import Besides
from flashlearn.outcome import Finding


def beside(finding: Finding | None, edit: Finding) -> Finding:
    """The edit alone, or after a finding that says what came of the mistake."""
    if finding is not None and isinstance(finding.kind, Besides):
        return beside(finding.parts[0], edit)
    if finding is None or finding.partial or not edit.kind.follows:
        return edit
    if isinstance(finding.kind, WithItsLine):
        return beside(finding.parts[0], edit)
    if finding.kind.locates or any(part.kind.locates for part in finding.parts):
        return edit
    return Finding(AndOneEdit((finding, edit)), edit.place, edit.fits, edit.of)
