"""Questions about earlier lessons, as data: a lesson's `recall.py` holds three of them.

    >>> Question("00, §5", "What fills the lanes beyond a row?", right("0", "It adds nothing."), wrong(…))

The machinery that asks and answers is `flashlearn.recall`.
"""

from __future__ import annotations

from dataclasses import dataclass

LETTERS = "abcd"


@dataclass(frozen=True)
class Choice:
    """One answer to choose: its text, and the sentence that it is answered with."""

    text: str
    says: str
    right: bool = False


@dataclass(frozen=True, init=False)
class Question:
    """What is asked, of which lesson and section ("00, §5"), and two to four choices, one of them right."""

    about: str
    asks: str
    choices: tuple[Choice, ...]

    def __init__(self, about: str, asks: str, *choices: Choice):
        object.__setattr__(self, "about", about)
        object.__setattr__(self, "asks", asks)
        object.__setattr__(self, "choices", choices)

    @property
    def letters(self) -> str:
        """The choices' letters: "abc"."""
        return LETTERS[: len(self.choices)]

    @property
    def right(self) -> str:
        """The letter of the right choice."""
        return next(letter for letter, choice in zip(self.letters, self.choices, strict=True) if choice.right)


def right(text: str, says: str) -> Choice:
    """The choice that is right; `says` is why, in a sentence."""
    return Choice(text, says, right=True)


def wrong(text: str, says: str) -> Choice:
    """A choice that is wrong; `says` is what it overlooks, without the right answer."""
    return Choice(text, says)
