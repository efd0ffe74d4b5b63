"""Where a NaN or an infinity is born, a number that nobody has defined, or digits are lost."""

from __future__ import annotations

from flashlearn.explaining.wording.kinds import Wording, kind
from flashlearn.outcome import Place

BIRTHS = {
    "inf minus inf": (
        "an infinity is subtracted from itself",
        "Why are both of them infinite? If it is −∞, a row has seen nothing yet, or a mask hides everything: "
        "which rows are they, and must they be computed at all?",
    ),
    "zero over zero": (
        "zero is divided by zero",
        "Which rows have a sum of zero there, and why: do they see nothing, or have all their exponentials "
        "vanished? A row that sees nothing may be divided by 1; what has vanished has to be mended before.",
    ),
    "inf over inf": (
        "an infinity is divided by an infinity",
        "Where does the infinity come from: is an exponential taken of a large number?",
    ),
    "zero times inf": (
        "zero is multiplied by an infinity",
        "A factor of 0 does not hide an infinity: make the infinity 0 first, with tl.where.",
    ),
    "outside the domain": (
        "a logarithm or a root is taken of a negative number",
        "Which numbers are negative there, and what keeps them from it in the formula?",
    ),
    "overflow": (
        "a number becomes too large for its format and turns into ∞",
        "exp overflows beyond 88 in fp32, and fp16 holds no more than 65504: subtract the maximum first, or "
        "keep fp32.",
    ),
    "division by zero": (
        "a number is divided by zero and turns into ∞",
        "Which elements of the divisor are zero? Guard them with tl.where.",
    ),
    "log of zero": (
        "a logarithm is taken of zero: −∞",
        "Which sums are 0 there: have all their exponentials underflowed, or is nothing added?",
    ),
}
"""What is done at a birth, and the next step."""

INFINITE = ("overflow", "division by zero", "log of zero")

UNDEFINED = {
    "masked load without other": (
        "is loaded under a mask without other=: what the hidden lanes hold is undefined, and it reaches the "
        "result.",
        "Say with other= what the hidden lanes hold.",
    ),
    "uninitialised memory": (
        "is read where nobody has written: torch.empty holds whatever was there before.",
        "Allocate it with torch.zeros, or write it before you read.",
    ),
}


@kind("birth")
def birth(
    birth: str, overflowed: bool, where: Place | None, case: str, output: str, count: int, total: int
) -> Wording:
    """A number that is none is made of numbers; its infinity may have `overflowed` before, and `where`."""
    what, step = BIRTHS[birth]
    reach = _reach(case, output, count, total)
    if birth in INFINITE:
        return Wording(f"Here {what}. {reach}", step)
    source = ""
    if overflowed:
        line = f"in line {where.line} (`{where.text.strip()}`) " if where is not None else ""
        source = f" The infinity comes from a number that {line}became too large for its format."
    return Wording(f"The first NaN is born here: {what}.{source} {reach}", step)


@kind("undefined numbers")
def undefined_numbers(what: str, tensor: str, case: str, output: str, count: int, total: int) -> Wording:
    """Numbers of a tensor that were never defined."""
    sentence, step = UNDEFINED[what]
    return Wording(f"{tensor} {sentence} {_reach(case, output, count, total)}", step)


@kind("rounded inside")
def rounded_inside(
    half: tuple[str, ...], lines: tuple[int, ...], count: int, full: int, name: str | None = None
) -> Wording:
    """Every wrong case is right once nothing inside is rounded to half precision; `full` of them are fp32.

    With a `name`, empty or not, the rounding of one line alone is to blame; it is that of a sum in it.
    """
    mended = {1: "the wrong case is right", 2: "both wrong cases are right"}.get(
        count, f"all {count} wrong cases are right"
    )
    if name is not None:
        return _in_one_line(lines[0], name, mended)
    if not full:
        return Wording(
            "Too much is rounded to half precision on the way: with fp32's digits kept inside the kernel, "
            f"{mended}.",
            "Which values are computed in the inputs' own dtype? Convert to tl.float32 after loading, keep "
            "sums in it, and convert back only in front of tl.dot and tl.store.",
        )
    where = f" in {_lines(lines)}" if lines else ""
    to = " and ".join(half) or "half precision"
    return Wording(
        f"Inside the kernel numbers are rounded to {to}{where}, also where the inputs are fp32. With their "
        f"digits kept, {mended}.",
        "A fixed half-precision type fits half-precision inputs alone: convert to the dtype of the tile that "
        "the product is taken with, as in `p.to(v.dtype)`, and keep sums in fp32.",
    )


def _in_one_line(line: int, name: str, mended: str) -> Wording:
    if name:
        return Wording(
            f"`{name}` is kept in half precision: line {line} rounds it each time. With fp32's digits in "
            f"that line alone, {mended}.",
            "Keep a sum in fp32, and add to it what has fp32's digits: half precision begins at the store.",
        )
    return Wording(
        f"Line {line} rounds what it computes to half precision. With fp32's digits there alone, {mended}.",
        "Compute in tl.float32 what goes through this line; a tile is cast for a tl.dot alone, and in front "
        "of the store.",
    )


def _lines(lines: tuple[int, ...]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"


def _reach(case: str, output: str, count: int, total: int) -> str:
    return f"In case {case} it ends up in {count} of {total} elements of {output}."
