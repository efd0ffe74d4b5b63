"""Rules about the numbers: the right ones in another order, of another size, or too coarse."""

from __future__ import annotations

from flashlearn.explaining.rules.factors import Meaning
from flashlearn.explaining.wording.kinds import Wording, kind
from flashlearn.judging.tolerance import misfit_clause
from flashlearn.outcome import Misfit

Span = tuple[float, float]


@kind("shape")
def shape(
    output: str, misfit: Misfit, case: str, outputs: tuple[str, ...], another: bool = False,
    by_autograd: bool = False,
) -> Wording:  # fmt: skip
    """A wrong shape, dtype or type; `another` says that the shape is that of another output.

    With `by_autograd` all outputs but the first are gradients, which autograd hands back.
    """
    what = "dtype" if misfit.what == "dtype" else "shape"
    step = f"Look at where {output} is made: which {what} does the exercise ask for?"
    if misfit.what == "nothing" and by_autograd and output != outputs[0]:
        step = (
            "backward returns one value for each argument of forward, in their order, and None for what "
            "wants none: `ctx.needs_input_grad[0]` speaks of the first argument behind ctx."
        )
    elif misfit.what == "nothing":
        step = f"Return {', '.join(outputs)}, in this order."
    elif another:
        step = f"Is {', '.join(outputs)} the order in which they are returned? {step}"
    elif misfit.what == "shape":
        step = f"{_of_dimensions(misfit)} {step}".strip()
    seen = f"{output} {misfit_clause(misfit)}"
    return Wording(f"{seen} (case {case}).", step, (output, misfit), None)


def _of_dimensions(misfit: Misfit) -> str:
    """A question about a dimension that is missing, or one too many."""
    got, expected = misfit.got, misfit.expected
    if len(got) < len(expected) and _within(got, expected):
        return "A dimension is gone: where is one summed, or picked out, that should stay?"
    if len(got) > len(expected) and _within(expected, got):
        return "A dimension is left over: over which one should still be summed, or which is of size 1?"
    if len(got) > 1 and got == (*expected[:-2], *expected[-2:][::-1]):
        return "Rows and columns have changed places: is a transpose missing, or one too many?"
    return ""


def _within(few: tuple[int, ...], many: tuple[int, ...]) -> bool:
    """Whether the sizes are the others, in their order, with some left out."""
    rest = iter(many)
    return all(size in rest for size in few)


@kind("outputs exchanged")
def outputs_exchanged(output: str, other: str, outputs: tuple[str, ...]) -> Wording:
    """Another output's right numbers."""
    step = f"Return {', '.join(outputs)} in this order; look at the stores, too."
    return Wording(f"{output} holds what belongs into {other}.", step)


@kind("zero everywhere")
def zero(output: str) -> Wording:
    """Nothing but zeros."""
    step = "Follow it back from the store: where does it begin at 0, and which line should add to it?"
    return Wording(f"Every element of {output} is 0.", step)


@kind("sign")
def sign(output: str) -> Wording:
    """The right numbers with the other sign."""
    step = "Where does the formula have a minus? Follow it from the loads to the store."
    return Wording(f"{output} has the right size and the opposite sign.", step)


@kind("transposed")
def transposed(output: str) -> Wording:
    """The right matrix, rows and columns exchanged."""
    step = "Which of the two indices counts rows? Compare the last product and the store with the formula."
    return Wording(f"{output} is the transpose of the right answer.", step)


@kind("stored with other strides")
def stored_with_other_strides(output: str, tensor: str) -> Wording:
    """The right numbers, at the places of another tensor's layout."""
    return Wording(
        f"{output} holds the right numbers, each where the strides of {tensor} put it: the store uses "
        f"{tensor}'s strides.",
        f"{output} is a tensor of its own, allocated in the launcher: address it with its own strides.",
    )


@kind("constant factor")
def constant_factor(
    output: str, factor: float, meaning: Meaning | None = None, span: Span | None = None
) -> Wording:
    """The right answer times one number, which has a meaning, or changes from case to case."""
    sentence = f"{output} is {factor:.4g} times the right answer, everywhere."
    if meaning is not None:
        sentence = f"{output} is {_called(meaning)} times the right answer, everywhere."
    elif span is not None:
        sentence = _changing(output, "times the right answer", span)
    return Wording(sentence, "Which factor of the formula is missing, or is there once too often?")


@kind("added constant")
def added_constant(
    output: str, constant: float, meaning: Meaning | None = None, span: Span | None = None
) -> Wording:
    """The right answer plus one number."""
    sentence = f"{output} is the right answer plus {constant:.4g}, everywhere."
    if meaning is not None:
        sentence = f"{output} is the right answer plus {_called(meaning)}, everywhere."
    elif span is not None:
        sentence = _changing(output, "more than the right answer", span)
    return Wording(sentence, "Which term of the formula is missing, or is there once too often?")


def _changing(output: str, how: str, span: Span) -> str:
    low, high = span
    return (
        f"Within a case {output} is one number {how}, but the number changes from case to case: "
        f"{low:.3g} to {high:.3g}."
    )


def _called(meaning: Meaning) -> str:
    words = meaning.symbol or f"the number of programs along axis {meaning.axis}"
    return {0: words, 1: f"ln({words})", -1: f"−ln({words})"}[meaning.log]


@kind("rows do not sum to 1")
def rows_do_not_sum_to_1(output: str, case: str, factors: Span, sums: Span | None) -> Wording:
    """Each row times a factor of its own; `sums` of rows that should sum to 1."""
    if sums is not None:
        return Wording(
            f"The rows of {output} sum to {sums[0]:.3g} … {sums[1]:.3g} (case {case}), not to 1; within a "
            "row the shares are right. So the number that a row is divided by is wrong.",
            "Which elements does the sum of a row see?",
        )
    return Wording(
        f"Each row of {output} is the right one times a factor of its own, {factors[0]:.3g} to "
        f"{factors[1]:.3g} (case {case}): a number that belongs to the whole row is wrong, and everything "
        "else is right.",
        "Which number does the kernel have once per row?",
    )


@kind("permuted heads")
def permuted_heads(output: str, owners: tuple[int, ...]) -> Wording:
    """`owners` are the heads whose right numbers each head holds."""
    if len(set(owners)) == 1:
        sentence = f"Every head of {output} holds the numbers of head {owners[0]} of {len(owners)}."
    else:
        last, held = len(owners) - 1, list(owners)
        sentence = f"The heads of {output} are in another order: head 0 to {last} hold {held}."
    step = "How does the kernel get from its program id to batch and head, and with which strides?"
    return Wording(sentence, step)


@kind("shifted")
def shifted(output: str, what: str, by: int) -> Wording:
    """The right elements, rows or columns, some places further on."""
    origin = f"i − {by}" if by > 0 else f"i + {-by}"
    return Wording(
        f"{output} holds the right {what}s in the wrong place: {what} i holds {origin}.",
        "Compare the indices of the loads with those of the store.",
    )


@kind("written twice")
def written_twice(
    output: str, case: str, count: int, total: int, times: float, first: tuple[int, ...]
) -> Wording:
    """Right where it is right, and a whole multiple elsewhere."""
    return Wording(
        f"{count} of {total} elements of {output} hold {times:.0f} times the right number in case {case}, "
        f"the first at {list(first)}; the others are right. The same share was added {times:.0f} times "
        "there.",
        "Which programs, or which steps of the loop, add to this element?",
    )


@kind("precision")
def precision(output: str, error: float, allowed: float, rms_ratio: float | None, added: str = "") -> Wording:
    """Close, but too coarse; with an `rms_ratio` where each number is close enough, and all are not.

    `added` is a tensor of half precision to which programs add.
    """
    how = f"off by {error:.2g} where {allowed:.2g} is allowed"
    if rms_ratio is not None:
        how = f"its rms error is {rms_ratio:.2f} times what a sum carried in fp32 may have"
    if added:
        return Wording(
            f"{output} is close but too coarse: {how}. Programs add to `{added}` atomically, and it is kept "
            "in half precision: each addition is rounded.",
            "Let the launcher hand over fp32 memory to add to, and convert it once when all is done.",
        )
    return Wording(
        f"{output} is close but too coarse: {how}. Some number is rounded on its way there.",
        "What leaves fp32 before the end: a sum, or a factor that is multiplied and cast back to the inputs' "
        "dtype?",
    )
