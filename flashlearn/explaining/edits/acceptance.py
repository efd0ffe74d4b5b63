"""Whether an exercise would accept an edited answer as a whole, not only its numbers.

An edit may make every number right and defeat the exercise: with a loop that also multiplies tiles in which
nothing is visible, or that reads everything twice. It is not what the learner should have written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flashlearn.exercise import Exercise
from flashlearn.explaining.repaired import Repaired
from flashlearn.explaining.stage import attempted
from flashlearn.running.answer import Answer


class Acceptance:
    """The review of an exercise, asked about edits of one answer."""

    def __init__(self, exercise: Exercise, answer: Answer):
        self.exercise, self.answer = exercise, answer
        self._of_the_answer: str | None = None

    def accepts(self, texts: Sequence[tuple[int, str]]) -> bool:
        """Whether the review finds nothing in the answer with these texts that it does not find without them.

        What fails, or needs the learner's answer to another exercise, refuses nothing.
        """
        found = self._review(Repaired(self.answer, texts))
        if not found:
            return True
        if self._of_the_answer is None:
            self._of_the_answer = self._review(self.answer)
        return found == self._of_the_answer

    def _review(self, answer: Answer) -> str:
        review = self.exercise.judged.review
        if review is None:
            return ""
        return attempted(self.exercise, "review of an edit", review, answer, _no_other_answer) or ""


def _no_other_answer(name: str) -> Any:
    raise LookupError(f"An edit is judged without the answer to {name}.")
