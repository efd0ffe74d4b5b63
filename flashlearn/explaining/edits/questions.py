"""The learner's next step after an edit that was tried: a question that fits what was edited.

A kind of edit has one question; where it covers several things, the texts decide which of them is asked
about. Only what is sure to be to the point is asked.

>>> question_of("operator", "a + b", "a - b")
'Must the second term be added or subtracted?'
"""

from __future__ import annotations

import re
from collections.abc import Callable

from flashlearn.explaining.edits.edit import kind_named

NUMBER_AT_THE_END = re.compile(r"[+-] ?\d+\)*$")
WITH_A_NUMBER = re.compile(r"[<>]=? ?\d+(\.\d*)?\)*$")
FLAG = re.compile(r"\b(True|False)\b")
NAME = re.compile(r"\w+")

OPERATIONS = {
    frozenset("+-"): "Must the second term be added or subtracted?",
    frozenset("*/"): "Must the first be multiplied by the second, or divided by it?",
    frozenset(("//", "%")): "Which of the two is needed here: the quotient or the remainder?",
    frozenset("&|"): "Must both conditions hold here, or is one of them enough?",
    frozenset("@*"): "Which product is needed here: of matrices, or element by element?",
    frozenset(("/", "//")): "Is this a whole number, and what becomes of the remainder?",
}
SIDES = "What belongs where the condition is true, and what where it is false?"
ENDS = "Try small numbers by hand: what does this come to, and what should it be?"
BASES = {
    "exp": "Which base does this exponential have, e or 2, and for which one is its argument meant?",
    "log": "Which base must this logarithm have: e or 2?",
}
UNWRITTEN = "What does this tensor hold before the first value is stored in it?"
MASKED = "Along which of its dimensions can the tile extend beyond the tensor, and does the mask test each?"
LARGER = "Which of the two values is needed here: the larger or the smaller?"
TOKENS = re.compile(r"//|[-+*/%&|@]|\w+|[^\s\w]")


def question_of(kind: str, old: str, new: str) -> str:
    """The question for an edit of a kind, given the texts before and after as they are quoted."""
    ask = BY_KIND.get(kind)
    return (ask(old, new) if ask is not None else "") or kind_named(kind).question


def _of_operator(old: str, new: str) -> str:
    before, after = TOKENS.findall(old), TOKENS.findall(new)
    if len(before) != len(after):
        return ""
    changed = {frozenset(pair) for pair in zip(before, after, strict=True) if pair[0] != pair[1]}
    return OPERATIONS.get(next(iter(changed)), "") if len(changed) == 1 else ""


def _of_operand(old: str, new: str) -> str:
    if NUMBER_AT_THE_END.search(old.removeprefix(new)) and old.startswith(new):
        return ENDS
    return "What does each of the two conditions exclude?" if "&" in old or "|" in old else ""


def _of_constant(old: str, new: str) -> str:
    if sorted(FLAG.findall(old)) != sorted(FLAG.findall(new)):
        return "What does this flag decide, and for which calls is each of its values right?"
    if "where(" in old:
        return SIDES
    if NUMBER_AT_THE_END.search(old) and (NUMBER_AT_THE_END.search(new) or old.startswith(new)):
        return ENDS
    return ""


def _of_fill(old: str, new: str) -> str:
    """What `tl.where` fills in may be the result itself; other fillers go into what follows."""
    return SIDES if "where(" in old else ""


def _of_function(old: str, new: str) -> str:
    changed = {*NAME.findall(old)} ^ {*NAME.findall(new)}
    if any(name.startswith(("empty", "new_empty")) for name in changed):
        return UNWRITTEN
    if changed in ({"maximum", "minimum"}, {"max", "min"}, {"Max", "Min"}):
        return LARGER
    return next((ask for base, ask in BASES.items() if changed == {base, f"{base}2"}), "")


def _of_comparison(old: str, new: str) -> str:
    if "inf" in old + new:
        return "For which values must this condition be true?"
    operators = [TOKENS.findall(text) for text in (old, new)]
    if {*NAME.findall(old)} != {*NAME.findall(new)}:
        return "Which index is compared here, and which size bounds it?"
    opposite = any({"<", ">"} <= {*one} ^ {*other} for one, other in (operators,))
    if not opposite and WITH_A_NUMBER.search(old) and WITH_A_NUMBER.search(new):
        return "Must this condition be true where the two sides are equal?"
    return "For which values must this condition be true?" if opposite else ""


def _of_name(old: str, new: str) -> str:
    return MASKED if "<" in new and "<" not in old else ""


BY_KIND: dict[str, Callable[[str, str], str]] = {
    "operator": _of_operator,
    "redundant operand": _of_operand,
    "constant": _of_constant,
    "function": _of_function,
    "comparison": _of_comparison,
    "fill value": _of_fill,
    "name": _of_name,
}
