"""Numbers that are close but too coarse: what the outputs show, and what an experiment proves."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flashlearn.explaining.findings.counts import all_pass
from flashlearn.explaining.findings.rule import Clue, Rule
from flashlearn.later import torch
from flashlearn.outcome import Finding, FindingKind, Wording

SLIGHT = 0.02
"""The share of the largest element up to which an error may pass for rounding."""


@dataclass(frozen=True)
class Precision(Rule):
    """Close everywhere, but not as close as sums carried in fp32.

    There is an `rms_ratio` where each number is close enough, and all together are not. `added` is a tensor
    of half precision to which programs add. `case` is where it was seen.
    """

    name = "precision"
    rank = 220
    vague = locates = True
    illustrations = ("case",)

    output: str
    error: float
    allowed: float
    rms_ratio: float | None
    added: str = ""
    case: str = ""

    @classmethod
    def look(cls, clue: Clue) -> Precision | None:
        """In half precision «close» is measured by what goes into a sum, since what comes out may cancel.

        An error that is not small beside the output itself may be anything, unless programs are seen to add
        in half precision.
        """
        check, dtype = clue.check, clue.outcome.case.dtype
        if not check.got.dtype.is_floating_point or not clue.finite:
            return None
        scale = largest = float(clue.expected.abs().max()) if clue.expected.numel() else 0.0
        if dtype.itemsize == 2:
            inputs = (
                t for t in clue.inputs.values() if isinstance(t, torch.Tensor) and t.is_floating_point()
            )
            scale = max(
                [scale, *(float(t.abs().max()) for t in inputs if t.numel() and bool(t.isfinite().all()))]
            )
        eps = torch.finfo(dtype if dtype.itemsize == 2 else check.got.dtype).eps
        if check.error > 64 * eps * max(scale, 1e-30):
            return None
        added = _added_in_half(clue)
        if not added and check.error > max(SLIGHT * largest, check.allowed):
            return None
        rms_ratio = check.rms_ratio if check.error <= check.allowed else None
        return cls(check.name, check.error, check.allowed, rms_ratio, added, clue.outcome.case.name)

    def wording(self) -> Wording:
        """How coarse it is, and which sum to look at."""
        how = f"off by {self.error:.2g} where {self.allowed:.2g} is allowed"
        if self.rms_ratio is not None:
            how = f"its rms error is {self.rms_ratio:.2f} times what a sum carried in fp32 may have"
        if self.added:
            return Wording(
                f"{self.output} is close but too coarse: {how}. Programs add to `{self.added}` atomically, "
                "and it is kept in half precision: each addition is rounded.",
                "Let the launcher pass fp32 memory to add to, and convert it once after the kernel.",
            )
        return Wording(
            f"{self.output} is close but not accurate enough: {how}.",
            "Where are digits lost: in a sum or another value that is not kept in fp32 until the end, or in "
            "a constant that has too few of them?",
        )


CONVERTED = re.compile(r"\.to\((tl|torch)\.float32\)\s*(#.*)?$")
"""The end of a line that converts its result."""

ROUNDED = re.compile(r"\.to\([^()]*\)\s*(#.*)?$")
"""The end of a line that converts its result, to whatever it is."""


def _added_in_half(clue: Clue) -> str:
    """The kernel's name for a tensor of half precision that programs add to, if there is one."""
    seen = clue.outcome.observation
    for launch in seen.launches if seen is not None else ():
        for name, kind in launch.signature.items():
            if kind in ("*fp16", "*bf16") and name in seen.traffic and seen.traffic[name].atomic:
                return name
    return ""


OPERAND = " For an operand of tl.dot the dtype is that of the other one, as in `p.to(v.dtype)`."


@dataclass(frozen=True)
class RoundedInside(FindingKind):
    """Every one of `count` wrong cases is right once nothing inside is rounded to half precision.

    `full` of them are in fp32. With a `sum_name`, empty or not, the rounding of one line alone is the cause:
    it is the name of a sum in that line. `half` are the formats, where they are known. `parts` is the edit
    that moves the line's conversion into tl.dot, if that is enough.
    """

    name = "rounded inside"
    called = ("precision",)
    conclusive = True
    knows_lines = True

    half: tuple[str, ...]
    lines: tuple[int, ...]
    count: int
    full: int
    sum_name: str | None = None
    text: str = ""
    products: bool = True
    """False where the answer has no tl.dot."""
    parts: tuple[Finding, ...] = ()

    @property
    def has_its_line(self) -> bool:
        """Whether it is known what has to keep its digits; else an edit may show it."""
        return bool(self.full) or self.sum_name is not None

    @property
    def question(self) -> str:
        """What to ask of the one line, by its `text`: whether it converts its result, or has a product."""
        if CONVERTED.search(self.text):
            return (
                "Are the operands converted to tl.float32 before the operation, or only its result after it?"
            )
        if "tl.dot(" in self.text:
            return (
                "The result of tl.dot is in tl.float32. Is it converted to half precision in this line, or "
                "must an operand keep its digits?"
            )
        if ROUNDED.search(self.text):
            return "Which uses of this value need all its digits, and does any need it in half precision?"
        return "Which value in this line is in half precision, and which of its uses need all digits?"

    def wording(self) -> Wording:
        """Where it is rounded, as far as that is known, and what to keep in fp32."""
        right = all_pass(self.count)
        if self.sum_name is not None:
            return self._in_one_line(right)
        if not self.full and len(self.lines) > 1:
            return Wording(
                f"Values that {_listed(self.lines)} compute are rounded to half precision. In a run in which "
                f"they are not rounded, {right}.",
                "Which of these values, and which of their uses, need all digits?",
            )
        if not self.full:
            return Wording(
                "Intermediate values are rounded to half precision inside the kernel. In a run in which they "
                f"keep all digits, {right}.",
                "Which values are computed, or kept, in the inputs' own dtype, and which uses of them need "
                "all digits?",
            )
        where = f" in {_listed(self.lines)}" if self.lines else ""
        to = " and ".join(self.half) or "half precision"
        return Wording(
            f"Values are rounded to {to} inside the kernel{where}, even where the inputs are fp32. In a run "
            f"in which they keep all digits, {right}.",
            "A fixed half-precision type does not fit inputs of another one. Which of these values must be "
            "rounded at all?" + OPERAND * self.products,
        )

    def _in_one_line(self, right: str) -> Wording:
        if self.parts:
            return Wording(
                f"A value that line {self.lines[0]} computes is rounded to half precision before all of its "
                f"uses, not only for the product. {self.parts[0].sentence}",
                "Which uses of this value need all its digits, and which one needs it in half precision?",
            )
        if self.sum_name:
            return Wording(
                f"`{self.sum_name}` is kept in half precision; line {self.lines[0]} rounds it every time. "
                f"In a run in which that line rounds nothing, {right}.",
                "Keep the sum, and what is added to it, in fp32; convert only at the store.",
            )
        return Wording(
            f"A value that line {self.lines[0]} computes is rounded to half precision. In a run in which it "
            f"is not rounded, {right}.",
            self.question,
        )


def _listed(lines: tuple[int, ...]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
