"""Rounding besides a mistake is told only where the mistake's own numbers are those of the answer."""

from __future__ import annotations

from types import SimpleNamespace

from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import EditAndMistake, OneEdit
from flashlearn.explaining.findings.two_mistakes import AfterRepair
from flashlearn.explaining.rounded_besides import rounded_besides
from flashlearn.outcome import Finding


def test_of_a_mistake_that_was_found_in_a_repaired_copy_no_rounding_is_said():
    declared = Finding(Declared("LSE is too large.", "", None, ("LSE",)), fits=4, of=4)
    edit = Finding(OneEdit("comparison", 3, "<", "<=", 4), None, 4, 4)
    for kind in (AfterRepair(0, 4, 4, (edit, declared)), EditAndMistake((edit, declared))):
        search = SimpleNamespace(finding=Finding(kind, None, 4, 4))
        assert len(search.finding.names) == 1 and rounded_besides(search) is None
