"""Visible pairs that have no weight P: a tile of keys or queries that is left out.

Where `loop` is True a program loops over that side; else each tile has its program.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.outcome import FindingKind, Wording

FIRST, LAST = ("first tile missing",), ("last tile missing",)

LOST = "What becomes of P V of these keys between the product and the store?"
SCANNED = (
    "For a query that sees them: does its program's loop reach them, does the mask let them through, and is "
    "what they add kept until the end?"
)
SCANNED_QUERIES = (
    "For a key that they see: does its program's loop reach these queries, does the mask let the pairs "
    "through, and is what they add kept until the end?"
)
"""The next step where a loop runs over what is missing, and something of it is read."""

OWN = (
    "Which tiles of the other side does the program of these {what} visit, does the mask let the pairs "
    "through, and is what they add kept until the end?"
)
"""The same where each tile has its program."""


def _wording(which: str, case: str, unread: tuple[str, ...] | None, steps: tuple[str, str]) -> Wording:
    """What gets no weight, what of it is never read, and the step for a loop that ends early, or another."""
    if not unread:
        read = ", although they are read" if unread is not None else ""
        return Wording(f"{which} (case {case}){read}.", steps[1])
    names = " and ".join(unread)
    verb = "are" if len(unread) > 1 else "is"
    alone = f"Compare the addresses and the masks with which {names} {verb} loaded with its shape."
    step = steps[0] if len(unread) > 1 else alone
    return Wording(f"{which} (case {case}): {names} {verb} never read there.", step)


@dataclass(frozen=True)
class LastKeysMissing(FindingKind):
    """The keys from `first` on, of which these inputs are never read: `unread`.

    Where they are `counted` in a right LSE, they are lost on the way into O.
    """

    name = "last keys get no weight"
    called = LAST

    first: int
    case: str
    loop: bool
    counted: bool = False
    unread: tuple[str, ...] | None = None

    def wording(self) -> Wording:
        """Which keys, and whether they are read."""
        if self.counted:
            return Wording(
                f"The keys from {self.first} on are counted in LSE, which is right, but have no weight in O "
                f"(case {self.case}).",
                LOST,
            )
        begins = (
            "Which keys does each loop over keys cover, from which to which?"
            if self.loop
            else "How many programs are there, and which keys does the last one have?"
        )
        steps = begins, SCANNED if self.loop else OWN.format(what="keys")
        return _wording(
            f"No query gives weight to any key from {self.first} on", self.case, self.unread, steps
        )


@dataclass(frozen=True)
class FirstKeysMissing(FindingKind):
    """The keys up to `last`, of which these inputs are never read: `unread`.

    Where they are `counted` in a right LSE, they are lost on the way into O.
    """

    name = "first keys get no weight"
    called = FIRST

    last: int
    case: str
    loop: bool
    counted: bool = False
    unread: tuple[str, ...] | None = None

    def wording(self) -> Wording:
        """Which keys, and whether they are read."""
        if self.counted:
            return Wording(
                f"Keys 0 to {self.last} are counted in LSE, which is right, but have no weight in O "
                f"(case {self.case}).",
                LOST,
            )
        begins = "Where does the loop over keys begin?" if self.loop else "Which keys does program 0 have?"
        steps = begins, SCANNED if self.loop else OWN.format(what="keys")
        return _wording(f"No query gives weight to keys 0 to {self.last}", self.case, self.unread, steps)


@dataclass(frozen=True)
class LastQueriesMissing(FindingKind):
    """The queries from `first` on give no weight to any key; these inputs are not read there: `unread`."""

    name = "last queries give no weight"
    called = LAST

    first: int
    case: str
    loop: bool
    unread: tuple[str, ...] | None = None

    def wording(self) -> Wording:
        """Which queries, and whether they are read."""
        begins = (
            "Where does the loop over queries end?"
            if self.loop
            else "How many programs are there, and which queries does the last one have?"
        )
        steps = begins, SCANNED_QUERIES if self.loop else OWN.format(what="queries")
        return _wording(
            f"The queries from {self.first} on give no weight to any key", self.case, self.unread, steps
        )


@dataclass(frozen=True)
class FirstQueriesMissing(FindingKind):
    """The queries up to `last` give no weight to any key; these inputs are not read there: `unread`."""

    name = "first queries give no weight"
    called = FIRST

    last: int
    case: str
    loop: bool
    unread: tuple[str, ...] | None = None

    def wording(self) -> Wording:
        """Which queries, and whether they are read."""
        begins = (
            "Where does the loop over queries begin?" if self.loop else "Which queries does program 0 have?"
        )
        steps = begins, SCANNED_QUERIES if self.loop else OWN.format(what="queries")
        return _wording(f"Queries 0 to {self.last} give no weight to any key", self.case, self.unread, steps)


@dataclass(frozen=True)
class PairsMissing(FindingKind):
    """`count` visible pairs without weight; `pair` is the first (query, key).

    All of them may lie where a causal mask would hide them, though the case has none: `future`. With `lines`
    "query" or "key" it is so many whole ones. Where they have some weight after all, it is at most this
    `share` of the right one.
    """

    name = "pairs without weight"
    called = ("some pairs have no weight",)
    locates = True

    case: str
    count: int
    pair: tuple[int, int]
    future: bool
    lines: str = ""
    share: float | None = None

    def wording(self) -> Wording:
        """How many pairs, the first, and what they have in common."""
        query, key = self.pair
        several = self.count != 1
        if self.share is not None:
            at_most = f"{self.share:.0e}".replace("e-0", "e-")
            return Wording(
                f"At least {self.count} pair{'s have' if several else ' has'} almost no weight, at most "
                f"about {at_most} of the right one (case {self.case}): "
                f"{'for example ' * several}key {key} of query {query}.",
                "What makes P so small there: what is added to these scores, or which factor does P get?",
            )
        if self.lines == "query":
            what = f"At least {self.count} queries give" if several else f"Query {query} gives"
            first = f"; one of them is query {query}" * several
            return Wording(
                f"{what} no weight to any key (case {self.case}){first}.",
                "Does the loop, or the grid, reach these queries, and does every mask let them through?",
            )
        if self.lines == "key":
            what = f"At least {self.count} keys get" if several else f"Key {key} gets"
            first = f"; one of them is key {key}" * several
            return Wording(
                f"{what} no weight from any query (case {self.case}){first}.",
                "Does the loop, or the grid, reach these keys, and does every mask let them through?",
            )
        sentence = (
            f"At least {self.count} pair{'s' * several} of a query and a key that it sees "
            f"{'have' if several else 'has'} no weight (case {self.case}); for example key {key} of query "
            f"{query}"
        )
        if self.future:
            return Wording(
                f"{sentence}. All of them are pairs that a causal mask hides, and this case has no mask.",
                "Which comparisons hide a pair here, which loops end before it, and is all of that "
                "meant without a causal mask?",
            )
        return Wording(
            f"{sentence}.",
            "Does a program's loop reach this pair, and does every mask let it through?",
        )


@dataclass(frozen=True)
class DiagonalKeysMissing(FindingKind):
    """In every row the last keys that may be seen get no weight; `pair` is the first (query, key) of a query
    that gives weight to others."""

    name = "diagonal tiles"

    pair: tuple[int, int]
    case: str

    def wording(self) -> Wording:
        """The first pair."""
        return Wording(
            f"Queries give no weight to the last keys that they may see: query {self.pair[0]}, for example, "
            f"gives none from key {self.pair[1]} on (case {self.case}).",
            "Compare the end of the loop, and the mask, with j ≤ i + S_k − S_q.",
        )
