"""A run of an edited text is made once for all stages, and again for another text, case or answer."""

from __future__ import annotations

from flashlearn.explaining.edits.known_runs import known_or_run
from flashlearn.running.answer import Here
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Edited


def test_the_same_edit_in_the_same_case_of_the_same_answer_is_run_once():
    made = []

    def run() -> Evidence:
        made.append(1)
        return Evidence(accesses=len(made))

    answer = Here(len)
    asked = [("a case", "x < n"), ("a case", "x < n"), ("a case", "x <= n"), ("another case", "x < n")]
    counts = [known_or_run(answer, case, Edited(0, text), run).accesses for case, text in asked]
    assert counts == [1, 1, 2, 3]
    assert known_or_run(Here(len), "a case", Edited(0, "x < n"), run).accesses == 4
