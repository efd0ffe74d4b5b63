"""An edit counts only if the exercise would accept the edited answer as a whole."""

from __future__ import annotations

from types import SimpleNamespace

from flashlearn.explaining.edits.acceptance import Acceptance
from flashlearn.lessons import find
from flashlearn.running.answer import Here
from tests.corpus import right_entries

CAUSAL = "flash_forward_causal"
LIMITED, ALL_TILES = "range(0, end, BN)", "range(0, N, BN)"


def causal_answer() -> tuple[Here, int, str]:
    """A right causal kernel, the number of the section with its loop, and that section's text."""
    exercise = find(CAUSAL)
    for entry in right_entries():
        if entry.exercise == CAUSAL and entry.text.count(LIMITED) == 1:
            answer = Here(entry.function, exercise)
            number = next(i for i, one in enumerate(answer.sections()) if LIMITED in one.text)
            return answer, number, answer.sections()[number].text
    raise AssertionError("no right answer has this loop")


def test_a_loop_over_tiles_in_which_nothing_is_visible_is_no_repair():
    answer, number, text = causal_answer()
    acceptance = Acceptance(find(CAUSAL), answer)
    assert acceptance.accepts(((number, text),))
    assert not acceptance.accepts(((number, text.replace(LIMITED, ALL_TILES)),))


def test_what_the_review_finds_in_the_answer_itself_is_not_held_against_an_edit():
    answer, number, text = causal_answer()
    judged = SimpleNamespace(review=lambda answer, earlier: "Too slow.")
    exercise = SimpleNamespace(name=CAUSAL, judged=judged)
    assert Acceptance(exercise, answer).accepts(((number, text),))


def test_a_review_that_fails_or_needs_another_answer_refuses_nothing():
    answer, number, text = causal_answer()
    exercise = SimpleNamespace(
        name=CAUSAL, judged=SimpleNamespace(review=lambda answer, earlier: earlier("row_sum"))
    )
    assert Acceptance(exercise, answer).accepts(((number, text),))
