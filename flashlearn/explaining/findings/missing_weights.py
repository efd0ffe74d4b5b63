"""Visible pairs that have no weight P: a tile of keys or queries that is left out.

Where `loop` is True a program loops over that side; else each tile has its program.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.outcome import FindingKind, Wording

FIRST, LAST = ("first tile missing",), ("last tile missing",)


@dataclass(frozen=True)
class LastKeysMissing(FindingKind):
    """The keys from `first` on; where they are `counted` in a right LSE, they are lost on the way into O."""

    name = "last keys get no weight"
    called = LAST

    first: int
    case: str
    loop: bool
    counted: bool = False

    def wording(self) -> Wording:
        """Which keys, and where the loop ends."""
        if self.counted:
            return Wording(
                f"Keys {self.first} and beyond are counted in LSE, which is right, but have no weight in O "
                f"(case {self.case}).",
                "What happens to P V of the last tile, between the product and the store?",
            )
        return Wording(
            f"No query gives weight to keys {self.first} and beyond (case {self.case}): the last tile is "
            "left out.",
            "Where does the loop over keys end?"
            if self.loop
            else "Which keys does the last program have, and what hides some of them?",
        )


@dataclass(frozen=True)
class FirstKeysMissing(FindingKind):
    """The keys up to `last`; where they are `counted` in a right LSE, they are lost on the way into O."""

    name = "first keys get no weight"
    called = FIRST

    last: int
    case: str
    loop: bool
    counted: bool = False

    def wording(self) -> Wording:
        """Which keys, and where the loop begins."""
        if self.counted:
            return Wording(
                f"Keys 0 to {self.last} are counted in LSE, which is right, but have no weight in O "
                f"(case {self.case}).",
                "In the first tile the factor for the old maximum is exp(−∞ − m) = 0. What is multiplied by "
                "it?",
            )
        return Wording(
            f"No query gives weight to keys 0 to {self.last} (case {self.case}): the first tile is left out.",
            "Where does the loop over keys begin?" if self.loop else "Which keys does program 0 have?",
        )


@dataclass(frozen=True)
class LastQueriesMissing(FindingKind):
    """The queries from `first` on give no weight to any key."""

    name = "last queries give no weight"
    called = LAST

    first: int
    case: str
    loop: bool

    def wording(self) -> Wording:
        """Which queries, and where the loop ends."""
        return Wording(
            f"Queries {self.first} and beyond give no weight to any key (case {self.case}): their tile is "
            "left out.",
            "Where does the loop over queries end?"
            if self.loop
            else "Which queries does the last program have, and what hides some of them?",
        )


@dataclass(frozen=True)
class FirstQueriesMissing(FindingKind):
    """The queries up to `last` give no weight to any key."""

    name = "first queries give no weight"
    called = FIRST

    last: int
    case: str
    loop: bool

    def wording(self) -> Wording:
        """Which queries, and where the loop begins."""
        return Wording(
            f"Queries 0 to {self.last} give no weight to any key (case {self.case}): their tile is left out.",
            "Where does the loop over queries begin?" if self.loop else "Which queries does program 0 have?",
        )


@dataclass(frozen=True)
class DiagonalKeysMissing(FindingKind):
    """In every row the last keys that may be seen get no weight; `pair` is the first (query, key)."""

    name = "diagonal tiles"

    pair: tuple[int, int]
    case: str

    def wording(self) -> Wording:
        """The first pair."""
        return Wording(
            f"Queries give no weight to the last keys that they see, from pair ({self.pair[0]}, "
            f"{self.pair[1]}) on (case {self.case}): the missing pairs lie along the diagonal.",
            "Where does the loop end, and does the mask say < or ≤?",
        )
