"""Two runs of the corpus side by side."""

from __future__ import annotations

import dataclasses

from rich.console import Console

from tests.corpus import Entry, comparison, measure
from tests.corpus.__main__ import main
from tests.corpus.measure import CheckResult, Measurement

ENTRY = Entry("row_sum", "no mask", "Lanes beyond the row are added.", ("out_of_bounds",), "wrong_no_mask")
RESULT = CheckResult(False, ("out_of_bounds",), "It took 3 ms.", 1.0, 0.5, status="OUT_OF_BOUNDS", line=12)


def text_of(before: CheckResult, after: CheckResult) -> str:
    runs = [comparison.run_of([Measurement(ENTRY, result)]) for result in (before, after)]
    console = Console(width=200)
    with console.capture() as captured:
        console.print(comparison.differences(*runs), comparison.totals(*runs))
    return captured.get()


def test_a_name_that_is_another_is_shown_with_its_verdict():
    text = text_of(RESULT, dataclasses.replace(RESULT, names=("some rows",)))
    assert "wrong row_sum: no mask" in text
    assert "named correctly" in text and "unnamed" in text and "some rows" in text
    assert "1 verdicts and 0 sentences differ" in text


def test_a_sentence_that_differs_in_its_durations_alone_is_the_same():
    text = text_of(RESULT, dataclasses.replace(RESULT, sentence="It took 45 ms."))
    assert "0 verdicts and 0 sentences differ" in text


def test_another_sentence_is_shown_beside_the_earlier_one():
    text = text_of(RESULT, dataclasses.replace(RESULT, sentence="It took long."))
    assert "It took 3 ms." in text and "It took long." in text
    assert "0 verdicts and 1 sentences differ" in text


def test_a_saved_run_is_compared_with_a_later_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tests.corpus.__main__.measure", lambda entries, jobs: measure.measure(entries[:1]))
    monkeypatch.setattr("tests.corpus.__main__.right_entries", tuple)
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    main(["--exercise", "softmax_vjp", "--save", str(before)])
    main(["--exercise", "softmax_vjp", "--save", str(after), "--compare", str(before)])
    main(["--compare", str(before), str(after)])
    assert capsys.readouterr().out.count("1 answers in both runs, 0 in one alone; 0 verdicts and 0 ") == 2
