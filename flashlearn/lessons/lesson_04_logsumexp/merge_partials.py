"""`merge_partials`: two partial results become one."""
# ruff: noqa: E741  (l is the sum's name in the papers, in the lesson and in the kernels)

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_04_logsumexp.merge_sentences import SENTENCES
from flashlearn.lessons.shared.cases import build_case


def merged(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """(m, l, acc) of both parts together, in units of exp(m)."""
    m = sp.Max(m_a, m_b)
    w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)
    return m, w_a * l_a + w_b * l_b, w_a * acc_a + w_b * acc_b


def _merged(weight_a, weight_b, maximum=sp.Max, on_l=True, on_acc=True):
    """A merge with other weights; on_l and on_acc say what is rescaled at all."""

    def answer(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = maximum(m_a, m_b)
        w_a, w_b = weight_a(m, m_a, m_b), weight_b(m, m_a, m_b)
        l = w_a * l_a + w_b * l_b if on_l else l_a + l_b
        acc = acc_a * w_a + acc_b * w_b if on_acc else acc_a + acc_b
        return m, l, acc

    return answer


def _of_a(m, m_a, m_b):
    return sp.exp(m_a - m)


def _of_b(m, m_a, m_b):
    return sp.exp(m_b - m)


def _one(m, m_a, m_b):
    return sp.S.One


def _weighted(on_l, on_acc):
    """A merge with a pair of weights for l, and another for acc."""

    def answer(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = sp.Max(m_a, m_b)
        (l_wa, l_wb), (wa, wb) = ([weight(m, m_a, m_b) for weight in pair] for pair in (on_l, on_acc))
        return m, l_wa * l_a + l_wb * l_b, acc_a * wa + acc_b * wb

    return answer


_IN_BASE_2 = (lambda m, m_a, m_b: 2 ** (m_a - m), lambda m, m_a, m_b: 2 ** (m_b - m))
_RIGHT, _A_AS_IT_IS, _B_AS_IT_IS = (_of_a, _of_b), (_one, _of_b), (_of_a, _one)


def _onto_b(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Part a brought to b's unit, and b left as it is."""
    w = sp.exp(m_a - m_b)
    return m_b, w * l_a + l_b, w * acc_a + acc_b


def _as_outputs(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Each part's acc weighted with its l, and divided by the new one: the merge of two O."""
    m, l, _ = _merged(_of_a, _of_b)(m_a, l_a, acc_a, m_b, l_b, acc_b)
    w_a, w_b = _of_a(m, m_a, m_b) * l_a, _of_b(m, m_a, m_b) * l_b
    return m, l, (acc_a * w_a + acc_b * w_b) / l


def _acc_with_l(base):
    """Each part's acc weighted with its l as well, with factors of a base; l itself is right."""

    def answer(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m, l, _ = merged(m_a, l_a, acc_a, m_b, l_b, acc_b)
        return m, l, acc_a * l_a * base ** (m_a - m) + acc_b * l_b * base ** (m_b - m)

    return answer


def _merged_outputs(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """The right m and l, and O in place of acc."""
    m, l, acc = _merged(_of_a, _of_b)(m_a, l_a, acc_a, m_b, l_b, acc_b)
    return m, l, acc / l


MISTAKES = {
    "nothing rescaled": Mistake(
        *SENTENCES["nothing rescaled"], wrong=_merged(_of_a, _of_b, on_l=False, on_acc=False)
    ),
    "acc not rescaled": Mistake(*SENTENCES["acc not rescaled"], wrong=_merged(_of_a, _of_b, on_acc=False)),
    "l not rescaled": Mistake(*SENTENCES["l not rescaled"], wrong=_merged(_of_a, _of_b, on_l=False)),
    "l and acc of one part not rescaled": Mistake(
        *SENTENCES["l and acc of one part not rescaled"],
        wrong=_weighted(_B_AS_IT_IS, _B_AS_IT_IS),
        also=(_weighted(_A_AS_IT_IS, _A_AS_IT_IS),),
    ),
    "l of one part not rescaled": Mistake(
        *SENTENCES["l of one part not rescaled"],
        wrong=_weighted(_B_AS_IT_IS, _RIGHT),
        also=(_weighted(_A_AS_IT_IS, _RIGHT),),
    ),
    "acc of one part not rescaled": Mistake(
        *SENTENCES["acc of one part not rescaled"],
        wrong=_weighted(_RIGHT, _B_AS_IT_IS),
        also=(_weighted(_RIGHT, _A_AS_IT_IS),),
    ),
    "in one part's unit": Mistake(
        *SENTENCES["in one part's unit"],
        wrong=_merged(_one, lambda m, m_a, m_b: sp.exp(m_b - m_a)),
        also=(_merged(lambda m, m_a, m_b: sp.exp(m_a - m_b), _one),),
    ),
    "weights exchanged": Mistake(*SENTENCES["weights exchanged"], wrong=_merged(_of_b, _of_a)),
    "exponents with the other sign": Mistake(
        *SENTENCES["exponents with the other sign"],
        wrong=_merged(lambda m, m_a, m_b: sp.exp(m - m_a), lambda m, m_a, m_b: sp.exp(m - m_b)),
    ),
    "weights without exp": Mistake(
        *SENTENCES["weights without exp"],
        wrong=_merged(lambda m, m_a, m_b: m_a - m, lambda m, m_a, m_b: m_b - m),
    ),
    "the smaller maximum": Mistake(
        "m is the smaller of the two. In exact arithmetic any m would do; but the exponentials are then as "
        "large as exp(m_a − m_b), and that overflows.",
        "Take sp.Max, so that both factors are at most 1.",
        wrong=_merged(_of_a, _of_b, maximum=sp.Min),
    ),
    "one part's maximum for both": Mistake(
        "m is one part's maximum, even where the other's is larger. In exact arithmetic any m would do; "
        "but the other part's factor overflows where its maximum is larger.",
        "Either part may hold the larger score: take sp.Max of the two.",
        wrong=_merged(_of_a, _of_b, maximum=lambda m_a, m_b: m_b),
        also=(
            _merged(_of_a, _of_b, maximum=lambda m_a, m_b: m_a),
            _onto_b,
            lambda m_a, l_a, acc_a, m_b, l_b, acc_b: _onto_b(m_b, l_b, acc_b, m_a, l_a, acc_a),
        ),
    ),
    "one part left out": Mistake(
        *SENTENCES["one part left out"],
        wrong=_merged(lambda m, m_a, m_b: sp.S.Zero, _of_b),
        also=(_merged(_of_a, lambda m, m_a, m_b: sp.S.Zero),),
    ),
    "powers of two": Mistake(
        "The parts are brought to the common m with powers of two, 2^(m_x − m), where e^(m_x − m) belongs.",
        "l and acc are sums of powers of e: their factors are powers of e, too.",
        wrong=_weighted(_IN_BASE_2, _IN_BASE_2),
        also=(_weighted(_IN_BASE_2, _RIGHT), _weighted(_RIGHT, _IN_BASE_2)),
    ),
    "acc weighted with l": Mistake(
        "Each part's acc is weighted with its l as well, as if it were a mean. acc is a sum, as l is.",
        "acc is a sum like l, each exponential times a value: by which factor does it change?",
        wrong=_acc_with_l(sp.E),
        also=(_acc_with_l(sp.Integer(2)),),
    ),
    "acc taken for O": Mistake(
        "You merge acc_a and acc_b as if each had already been divided by its l: you weight them by l and "
        "divide by the new l. That is how two outputs O are merged; acc is the sum before the division.",
        "acc is a sum like l, each exponential times a value: by which factor does it change?",
        wrong=_as_outputs,
    ),
    "O in place of acc": Mistake(
        "The third is acc / l: the output, already divided.",
        "Divide once, when everything is merged: a merged acc is a sum.",
        wrong=_merged_outputs,
    ),
}

PARTS = ("m_a", "l_a", "acc_a", "m_b", "l_b", "acc_b")


def any_parts(D: int) -> Case:
    """Two parts of symbols, with D components each."""
    return build_case("any parts", {"D": D}, note=f"D = {D}", data="symbols")


def merge_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """Two parts of a row: a maximum, a sum and a 1 × D row of weighted values each."""
    log, third = sp.log, sp.Rational(1, 3)
    if case.data == "example":  # scores 0, log 2 | log 3 with the values (1, 0), (0, 2) | (1, 1)
        half = sp.Rational(1, 2)
        values = (log(2), 3 * half, sp.Matrix([[half, 2]]), log(3), sp.S.One, sp.Matrix([[1, 1]]))
    elif case.data == "numbers":
        values = (log(6), sp.Integer(2), sp.Matrix([[1, -1]]), log(2), 4 * third, sp.Matrix([[third, 2]]))
    else:
        D = case.sizes["D"]
        values = (
            *(sp.Symbol("m_a", real=True), sp.Symbol("l_a", positive=True), _row("acc_a", D)),
            *(sp.Symbol("m_b", real=True), sp.Symbol("l_b", positive=True), _row("acc_b", D)),
        )
        if case.data == "b is empty":
            values = (*values[:3], -sp.oo, sp.S.Zero, sp.zeros(1, D))
        if case.data == "a is empty":
            values = (-sp.oo, sp.S.Zero, sp.zeros(1, D), *values[3:])
    return dict(zip(PARTS, values, strict=True))


def _row(name: str, D: int) -> sp.Matrix:
    return sp.Matrix([sp.symbols(f"{name}_1:{D + 1}", real=True)])


merge_partials = Exercise(
    name="merge_partials",
    lesson="04",
    kind=Kind.SYMBOLIC,
    title="Two partial results become one",
    signature="(m_a, l_a, acc_a, m_b, l_b, acc_b) -> (m, l, acc)",
    outputs=("m", "l", "acc"),
    inputs=merge_inputs,
    cases=(
        Case("scores 0, log 2 and log 3", {"D": 2}, data="example"),
        Case("the larger maximum first", {"D": 2}, data="numbers"),
        any_parts(1),
        any_parts(2),
        Case("b is empty: (−∞, 0, 0)", {"D": 2}, data="b is empty"),
        Case("a is empty: (−∞, 0, 0)", {"D": 2}, data="a is empty"),
    ),
    judged=HowJudged(
        reference=merged,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
    points=2,
)
