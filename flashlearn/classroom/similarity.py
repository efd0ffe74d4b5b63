"""Similar answers: what two students share and hardly any other has.

    >>> alike(answers)[0]
    Pair(exercise='row_sum', one='Ann', other='Bob', share=0.93)

Comments, layout and a student's own names do not count, nor does what the stub gives or what many have: short
right answers are alike anyway. A pair is a question to two people, not a verdict.
"""

from __future__ import annotations

import builtins
import io
import keyword
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

LENGTH = 6
"""Consecutive tokens that make one piece."""

LEAST = 12
"""Unusual pieces that an answer must have to be compared."""

ALIKE = 0.7
"""Share of the unusual pieces of both that they have in common."""

KEPT = frozenset({*keyword.kwlist, *dir(builtins), "tl", "triton", "torch", "sp", "sympy", "math", "np"})
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip


class Pair(NamedTuple):
    """Two students whose answers to an exercise are similar, and the share of unusual pieces in common."""

    exercise: str
    one: str
    other: str
    share: float


def alike(
    answers: Mapping[str, Iterable[tuple[str, str]]],
    others: Mapping[str, Iterable[tuple[str, str]]] | None = None,
) -> list[Pair]:
    """Pairs by exercise, the most alike first; `answers` has (student, text) for each exercise.

    `others` are texts that answers may be alike too: of earlier years, or the course's own. Two of them make
    no pair, and what they have in common does not count as common in the class.
    """
    beside = others or {}
    found = [
        pair
        for exercise, texts in answers.items()
        for pair in _pairs(exercise, list(texts), list(beside.get(exercise, ())))
    ]
    return sorted(found, key=lambda pair: (-pair.share, pair.exercise, pair.one, pair.other))


def pieces(text: str) -> frozenset[tuple[str, ...]]:
    """Runs of tokens of a text, with its own names unified."""
    tokens = _tokens(text)
    return frozenset(tuple(tokens[i : i + LENGTH]) for i in range(len(tokens) - LENGTH + 1))


def _pairs(exercise: str, ours: list[tuple[str, str]], others: list[tuple[str, str]]) -> list[Pair]:
    texts = [*ours, *others]
    owners: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for number, (_, text) in enumerate(texts):
        for piece in pieces(text):
            owners[piece].add(number)
    common = max(3, len(ours) // 20)  # more than this: from the lesson, or required by the task
    own: dict[int, int] = defaultdict(int)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for who in owners.values():
        if sum(number < len(ours) for number in who) <= common:
            for number in who:
                own[number] += 1
            for one, other in combinations(sorted(who), 2):
                if one < len(ours):
                    shared[one, other] += 1
    found = []
    for (a, b), count in shared.items():
        share = count / (own[a] + own[b] - count)
        if min(own[a], own[b]) >= LEAST and share >= ALIKE:
            found.append(Pair(exercise, texts[a][0], texts[b][0], share))
    return found


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in LAYOUT:
                continue
            before = found[-1] if found else ""
            if token.type == tokenize.NAME and token.string not in KEPT and before != ".":
                found.append("name")
            elif token.type == tokenize.STRING:
                found.append("text")
            else:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError):  # what comes before the error is compared
        pass
    return found
