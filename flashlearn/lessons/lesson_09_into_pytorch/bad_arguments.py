"""Arguments that attention must refuse, and the review that hands them to a learner's launcher.

It also looks at what no case shows: whether views are read where they lie, and the layout of what comes back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from flashlearn.exercise import Earlier
from flashlearn.running.answer import Answer
from flashlearn.running.evidence import Raised
from flashlearn.running.run_modes import Observed

SHAPE = (1, 2, 16, 16)

TAKEN, NAMED = "taken", 3
"""Arguments that are not refused, and how many of them are named."""

LONGEST = 90
"""Characters of another's message that are quoted."""

DTYPE_ERROR, OTHER_ERROR = REFUSALS = ("TypeError", "ValueError")
"""What is to be raised for a dtype that does not fit, and for everything else."""


@dataclass(frozen=True)
class BadArguments:
    """Three tensors that do not fit, a description of them, and what a message about them should mention.

    `kind` is the exception that the lesson asks for.
    """

    description: str
    q: Tensor
    k: Tensor
    v: Tensor
    names: tuple[str, ...]
    found: tuple[str, ...]
    kind: str = OTHER_ERROR


def _zeros(*shape: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Tensor:
    return torch.zeros(shape or SHAPE, dtype=dtype, device=device)


def misfits() -> tuple[BadArguments, ...]:
    """Everything that must raise, simplest first."""
    right, half, brain = _zeros(), _zeros(dtype=torch.float16), _zeros(dtype=torch.bfloat16)
    whole, double = _zeros(dtype=torch.int32), _zeros(dtype=torch.float64)
    far, flat, short = _zeros(device="meta"), _zeros(2, 16, 16), _zeros(1, 2, 12, 16)
    wide, more, fewer = _zeros(1, 2, 16, 32), _zeros(1, 3, 16, 16), _zeros(1, 1, 16, 16)
    twice = _zeros(2, 2, 16, 16)
    all_three = ("q", "k", "v")
    return (
        BadArguments(
            "q in float16 with k and v in float32",
            half,
            right,
            right,
            all_three,
            ("float16", "float32"),
            DTYPE_ERROR,
        ),
        BadArguments(
            "v in bfloat16 with q and k in float16", half, half, brain, ("v",), ("bfloat16",), DTYPE_ERROR
        ),
        BadArguments("three tensors of int32", whole, whole, whole, all_three, ("int32",), DTYPE_ERROR),
        BadArguments(
            "three tensors of float64", double, double, double, all_three, ("float64",), DTYPE_ERROR
        ),
        BadArguments("k on another device than q and v", right, far, right, ("k", "q"), ("meta", "cpu")),
        BadArguments(
            "q with three dimensions", flat, right, right, ("q",), ("(2, 16, 16)", "[2, 16, 16]", "3")
        ),
        BadArguments("k and v of D 32 with q of D 16", right, wide, wide, all_three, ("32",)),
        BadArguments("v of D 32 with q and k of D 16", right, right, wide, ("v",), ("32",)),
        BadArguments("16 keys and 12 values", right, right, short, ("k", "v"), ("12",)),
        BadArguments("k and v of 3 heads with q of 2", right, more, more, all_three, ("3",)),
        BadArguments("k and v of 1 head with q of 2", right, fewer, fewer, all_three, ("1",)),
        BadArguments("v of 2 batch entries, q and k of 1", right, right, twice, ("v",), ("2",)),
        BadArguments("k and v of 2 batch entries with q of 1", right, twice, twice, all_three, ("2",)),
    )


def review(answer: Answer, earlier: Earlier) -> str:
    """What is wrong with refusals, a sentence for each way in which it is, and with a layout."""
    found: dict[tuple[str, str], str] = {}
    taken: dict[str, list[BadArguments]] = {}
    for misfit in misfits():
        given = {"q": misfit.q, "k": misfit.k, "v": misfit.v}
        error = answer.run(given, Observed()).raised
        sentence = _answered(misfit, error)
        way = error.kind if error is not None and error.kind in REFUSALS else TAKEN
        if sentence and (way, misfit.kind) not in found:
            found[way, misfit.kind] = sentence
            taken[misfit.kind] = [misfit] if error is None else taken.get(misfit.kind, [])
        elif error is None and taken.get(misfit.kind):
            taken[misfit.kind].append(misfit)
            found[TAKEN, misfit.kind] = _accepted(taken[misfit.kind])
    sentences = [*found.values(), *filter(None, [_layouts(answer)])]
    return " Besides, ".join([*sentences[:1], *(_continued(s) for s in sentences[1:])])


def _continued(sentence: str) -> str:
    """The sentence as the second of several: that every case passes has been said."""
    sentence = sentence.removeprefix("Every case passes, but ")
    return sentence[0].lower() + sentence[1:] if sentence.startswith("Given") else sentence


def _accepted(taken: Sequence[BadArguments]) -> str:
    """What is taken and must not be; of more than `NAMED` the first ones, and how many there are."""
    named = "; ".join(misfit.description for misfit in taken[:NAMED])
    more = f"; and {len(taken) - NAMED} more that do not fit" if len(taken) > NAMED else ""
    each = "each of these: " if len(taken) > 1 else ""
    return (
        f"Every case passes, but the launcher accepts {each}{named}{more}. Raise a {taken[0].kind} with what "
        "was found and what was expected."
    )


def _answered(misfit: BadArguments, error: Raised | None) -> str:
    """A sentence if the arguments are taken, or refused in a way that does not help."""
    return _accepted([misfit]) if error is None else _refused(misfit, error)


def _refused(misfit: BadArguments, error: Raised) -> str:
    """A sentence if the arguments are refused in a way that does not help."""
    if error.kind == misfit.kind:
        return _unclear(misfit, error.text)
    if error.kind in REFUSALS:
        return (
            f"Given {misfit.description}, it raises {error.kind}, and should raise {misfit.kind}: "
            "TypeError is for dtypes, ValueError for everything else that does not fit."
        )
    return (
        f"Given {misfit.description}, it fails with {error.kind} ({_head(error.text)}): raise a "
        f"{misfit.kind} before anything is launched."
    )


def _layouts(answer: Answer) -> str:
    """A sentence if q, k and v, left as [B, S, H, D] by a projection, are copied, or o or lse has gaps."""
    given = {name: torch.zeros(1, 20, 2, 16).transpose(1, 2) for name in "qkv"}
    evidence = answer.run(given, Observed())
    if evidence.raised is not None:
        return ""
    copied = [name for name in given if name not in evidence.observation.unread]
    if copied and not evidence.arithmetic:  # what torch computed of them is no copy
        it, is_a = ("it", "is a view") if len(copied) == 1 else ("them", "are views")
        return (
            f"Every case passes, but where {_listed(copied)} {is_a}, no program reads {it}: the launcher "
            "copies. Nothing should be copied: pass the view and its own strides to the kernel."
        )
    for name, out in zip(("o", "lse"), evidence.values, strict=True):
        if not out.is_contiguous():
            copied_from_q = out.stride() == given["q"].stride()
            whose = ", those of the view q: its layout was copied" if copied_from_q else ""
            needed = out.contiguous().stride()
            return (
                f"Every case passes, but where q, k and v are views laid out as [B, S, H, D], {name} has "
                f"the strides {out.stride()}{whose}. It should be contiguous, {needed} there, whatever q "
                "is: allocate it by its shape."
            )
    return ""


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _unclear(misfit: BadArguments, text: str) -> str:
    named = any(re.search(rf"\b{name}\b", text) for name in misfit.names)
    if named and any(found in text for found in misfit.found):
        return ""
    lacks = "what was found" if named else f"which argument it is about ({' or '.join(misfit.names)})"
    return (
        f"Given {misfit.description}, the message is “{_head(text)}”. It does not say {lacks}; a reader "
        "who made that mistake needs it."
    )


def _head(text: str) -> str:
    """The first line of a message, or as many of its clauses as have room."""
    head = (text.strip().splitlines() or ["no message"])[0]
    if len(head) <= LONGEST:
        return head
    end = max(head.rfind(mark, 0, LONGEST) for mark in (". ", ": ", "; "))
    return head[:end] if end > LONGEST // 3 else head[: LONGEST - 1] + "…"


def seen_beside(answer: Answer) -> str:
    """The same of an answer whose cases need not pass, without what a wrong kernel could be the reason of."""
    for misfit in misfits():
        given = {"q": misfit.q, "k": misfit.k, "v": misfit.v}
        sentence = _answered(misfit, answer.run(given, Observed()).raised)
        if sentence:
            return _by_itself(sentence)
    layout = _layouts(answer)
    return "" if "the launcher copies" in layout else _by_itself(layout)


def _by_itself(sentence: str) -> str:
    """A review's sentence without the beginning that says that every case passes."""
    sentence = sentence.removeprefix("Every case passes, but ")
    return sentence[:1].upper() + sentence[1:] if sentence.startswith("the ") else sentence
