"""The operation from which the first NaN or infinity comes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flashlearn.outcome import Finding, FindingKind, Place, Wording

OPERATIONS = {
    "inf minus inf": (
        "two infinities are added or subtracted, and the result has no value",
        "Where do the two infinities come from, and what should be in their place?",
    ),
    "zero over zero": (
        "zero is divided by zero",
        "Why is the divisor 0 there: is it a sum whose terms are all 0, or an exponential that is too small "
        "for its format?",
    ),
    "inf over inf": (
        "an infinity is divided by an infinity",
        "Where does each of the two infinities come from?",
    ),
    "zero times inf": (
        "zero is multiplied by an infinity",
        "A factor of 0 does not hide an infinity: where does the infinity come from, and what should be in "
        "its place?",
    ),
    "outside the domain": (
        "a logarithm or a root is taken of a negative number",
        "Which numbers are negative there, and what in the formula keeps them from being so?",
    ),
    "overflow": (
        "a number becomes too large for its format and turns into ∞",
        "How large may this number become? fp16 holds no more than 65504, fp32 no more than 3.4·10³⁸.",
    ),
    "division by zero": (
        "a number is divided by zero and turns into ∞",
        "Which elements of the divisor are 0, and what should the quotient be there?",
    ),
    "log of zero": (
        "the logarithm of zero is taken, which is −∞",
        "Which terms should the sum have in these rows, and why do they come to 0?",
    ),
}
"""What the operation does, and the next step, by its kind (`interpreter.nan_origin`)."""

INFINITIES = {
    "−∞ − −∞": (
        "−∞ is subtracted from itself",
        "Why are both of them −∞? Has the row seen nothing yet, does a mask hide all of it, or is −∞ put "
        "where another number belongs? What should be subtracted there?",
    ),
    "+∞ − +∞": (
        "+∞ is subtracted from itself",
        "Where does the +∞ come from, and what should be in its place?",
    ),
    "+∞ + −∞": (
        "+∞ and −∞ are added",
        "Where does the +∞ come from, and where the −∞? What should be in their place?",
    ),
}
"""The same for "inf minus inf", by the infinities that were seen."""

ZEROS = {
    "exponential": "Does one exponential underflow to 0 where the other overflows? Take a single "
    "exponential, of the difference of the two exponents, instead of their product.",
    "unknown": "Where does the 0 come from, and where does the infinity?",
}
"""The next step after "zero times inf" by what the 0 is, where it is no mask's."""

EXPONENTIALS = {
    "exp2(": "exp2 overflows from 128 on in fp32: what is the largest exponent here?",
    "exp(": "exp overflows beyond 88.7 in fp32: what is the largest exponent here?",
}
"""The next step after an overflow by what the line contains."""

WHERE_ALL_SEE = {
    "−∞ − −∞": "Why are both of them −∞, although every row has scores?",
}
"""The next step where every row has something to see, and no element is finite."""

EARLIER = "Another line makes a NaN before this one. Does that reach the values that are used here?"
EMPTY = ("log of zero", "zero over zero")
INFINITE = ("overflow", "division by zero", "log of zero")


@dataclass(frozen=True)
class NanOrigin(FindingKind):
    """`operation`, a key of OPERATIONS, makes a NaN or an infinity that reaches `output`.

    Its infinity may have `overflowed` before, in the place `where`; `zero` is a key of ZEROS, or empty. Of
    the inputs `unread` nothing was read. Unless there may be `blind` rows, all rows have something to see.
    The operation is in `line`, which reads `text`; 0 and empty, if that is not known. `infinities` is a key
    of INFINITIES, or empty. Unless it is the `first`, another operation made a NaN before it. A `brief` one
    leaves out how far it reaches.
    """

    name = "origin of a NaN"
    observed = True

    operation: str
    overflowed: bool
    where: Place | None
    case: str
    output: str
    count: int
    total: int
    called: tuple[str, ...] = ()
    zero: str = ""
    unread: tuple[str, ...] = ()
    blind: bool = True
    line: int = 0
    text: str = ""
    infinities: str = ""
    first: bool = True
    brief: bool = False

    @property
    def everywhere(self) -> bool:
        """Whether no element of the output is finite."""
        return self.count == self.total

    def wording(self) -> Wording:
        """What the operation does, where its infinity comes from, and how far it reaches."""
        what, step = INFINITIES.get(self.infinities, OPERATIONS[self.operation])
        step = ZEROS.get(self.zero, step)
        if self.operation == "overflow":
            step = next((ask for name, ask in EXPONENTIALS.items() if name in self.text), step)
        if not self.blind and self.everywhere:
            step = WHERE_ALL_SEE.get(self.infinities, step)
        step = step if self.first or self.operation in INFINITE else EARLIER
        reached = "" if self.brief else reach(self.case, self.output, self.count, self.total)
        if self.unread and self.operation in EMPTY:
            reached += (
                f" No program reads {' or '.join(self.unread)} in this case: nothing is added to that sum."
            )
            step = "Why does the loop not run in this case? Compare its bounds with the sizes."
        if self.operation in INFINITE:
            where = f"In line {self.line} {what}" if self.line else f"{what[:1].upper()}{what[1:]}"
            return Wording(f"{where}. {reached}", step)
        source = ""
        if self.overflowed:
            text = _code(self.where) if self.where is not None else ""
            quoted = f" (`{text}`)" if text else ""
            line = f"line {self.where.line}{quoted}, where a number " if self.where is not None else ""
            source = f" The infinity comes from {line or 'a number that '}became too large for its format."
            if self.operation == "inf minus inf":
                step = OPERATIONS["overflow"][1]
        where = f"in line {self.line}: {what}" if self.line else f"where {what}"
        which = "The first NaN" if self.first else "A NaN"
        return Wording(f"{which} appears {where}.{source} {reached}".rstrip(), step)


def sentence_away_from(finding: Finding, shown: Place | None) -> str:
    """The finding's sentence where the report shows another line than its own: its line is quoted."""
    place, kind = finding.place, finding.kind
    if not isinstance(kind, NanOrigin) or place is None or (shown and shown.line == place.line):
        return finding.sentence
    where, text = f"n line {kind.line}", _code(place)
    return finding.sentence.replace(where, f"{where} (`{text}`)" if text else where, 1)


def _code(place: Place) -> str:
    """The line's text without a comment."""
    return re.split(r"(?:^|\s)#", place.text)[0].strip()


def reach(case: str, output: str, count: int, total: int) -> str:
    """How far undefined numbers reach; `total` elements are finite in a right answer."""
    if count == total:
        return f"In case “{case}”, it reaches every element of {output} that should be finite."
    return f"In case “{case}”, it reaches {count} of the {total} elements of {output} that should be finite."
