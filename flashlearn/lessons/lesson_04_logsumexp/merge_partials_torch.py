"""`merge_partials_torch`: the same for whole tensors, and for parts that are empty."""
# ruff: noqa: E741  (l is the sum's name in the papers, in the lesson and in the kernels)

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_04_logsumexp.merge_sentences import SENTENCES
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults


def merge(m_a, l_a, acc_a, m_b, l_b, acc_b, faults: Faults = NONE) -> tuple[Tensor, Tensor, Tensor]:
    """The merge of two partial results, right or with faults."""
    m = torch.maximum(m_a, m_b)
    shift = m if "no guard" in faults else torch.where(m == -math.inf, 0.0, m)
    w_a, w_b = (m_a - shift).exp(), (m_b - shift).exp()
    if "exchanged" in faults:
        w_a, w_b = w_b, w_a
    if "unit of a" in faults:
        w_a, w_b = torch.ones_like(w_a), (m_b - m_a).exp()
    if "unit of b" in faults:
        w_a, w_b = (m_a - m_b).exp(), torch.ones_like(w_b)
    on_l = [1.0 if f"l_{part} as it is" in faults else w for part, w in zip("ab", (w_a, w_b), strict=True)]
    l = l_a + l_b if faults & {"nothing", "l"} else on_l[0] * l_a + on_l[1] * l_b
    acc = sum(
        own if f"acc_{part} as it is" in faults else w.unsqueeze(-1) * own
        for part, w, own in (("a", w_a, acc_a), ("b", w_b, acc_b))
    )
    if faults & {"nothing", "acc"}:
        acc = acc_a + acc_b
    if "larger part only" in faults:
        first = m_a >= m_b
        l, acc = torch.where(first, l_a, l_b), torch.where(first.unsqueeze(-1), acc_a, acc_b)
    if "a left out" in faults:
        l, acc = w_b * l_b, w_b.unsqueeze(-1) * acc_b
    if "b left out" in faults:
        l, acc = w_a * l_a, w_a.unsqueeze(-1) * acc_a
    if "halved" in faults:
        l, acc = l / 2, acc / 2
    if "mean under the weights" in faults:
        both = torch.where(w_a + w_b == 0, 1.0, w_a + w_b)
        l, acc = l / both, acc / both.unsqueeze(-1)
    if "acc alone averaged" in faults:
        acc = acc / torch.where(w_a + w_b == 0, 1.0, w_a + w_b).unsqueeze(-1)
    if "divided" in faults:
        acc = acc / torch.where(l == 0, 1.0, l).unsqueeze(-1)
    return (shift if "shift" in faults else m), l, acc


def merged_with_one_exponential(m_a, l_a, acc_a, m_b, l_b, acc_b) -> tuple[Tensor, Tensor, Tensor]:
    """The same with a single exponential: the larger part keeps its weight of 1."""
    m = torch.maximum(m_a, m_b)
    gap = torch.where(m == -math.inf, 0.0, torch.minimum(m_a, m_b) - m).exp()
    w_a, w_b = torch.where(m_a == m, 1.0, gap), torch.where(m_b == m, 1.0, gap)
    return m, w_a * l_a + w_b * l_b, w_a.unsqueeze(-1) * acc_a + w_b.unsqueeze(-1) * acc_b


def _merge_without_maximum(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Everything in units of exp(0), as fp32 computes it."""
    dtype = m_a.dtype
    e_a, e_b = m_a.float().exp(), m_b.float().exp()
    l = (e_a * l_a.float() + e_b * l_b.float()).to(dtype)
    acc = e_a.unsqueeze(-1) * acc_a.float() + e_b.unsqueeze(-1) * acc_b.float()
    return torch.zeros_like(m_a), l, acc.to(dtype)


def _faulty(*faults: str):
    return functools.partial(merge, faults=frozenset(faults))


MISTAKES = {
    "the empty merge is not guarded": Mistake(
        "Where both parts are empty, m is −inf, and m_a − m or m_b − m without a guard is −inf + inf: NaN.",
        "Subtract a number that is finite: 0 where m is −inf. The weights are then exp(−inf) = 0.",
        wrong=_faulty("no guard"),
    ),
    "the guard's 0 is returned": Mistake(
        "Where both parts are empty you return m = 0. An empty part has m = −inf.",
        "A finite number in place of −inf belongs in the exponents only.",
        wrong=_faulty("shift"),
    ),
    "nothing rescaled": Mistake(*SENTENCES["nothing rescaled"], wrong=_faulty("nothing")),
    "acc not rescaled": Mistake(*SENTENCES["acc not rescaled"], wrong=_faulty("acc")),
    "l not rescaled": Mistake(*SENTENCES["l not rescaled"], wrong=_faulty("l")),
    "l and acc of one part not rescaled": Mistake(
        *SENTENCES["l and acc of one part not rescaled"],
        wrong=_faulty("l_b as it is", "acc_b as it is"),
        also=(_faulty("l_a as it is", "acc_a as it is"),),
    ),
    "l of one part not rescaled": Mistake(
        *SENTENCES["l of one part not rescaled"],
        wrong=_faulty("l_b as it is"),
        also=(_faulty("l_a as it is"),),
    ),
    "acc of one part not rescaled": Mistake(
        *SENTENCES["acc of one part not rescaled"],
        wrong=_faulty("acc_b as it is"),
        also=(_faulty("acc_a as it is"),),
    ),
    "in one part's unit": Mistake(
        *SENTENCES["in one part's unit"],
        wrong=_faulty("unit of a"),
        also=(_faulty("unit of b"),),
    ),
    "weights exchanged": Mistake(*SENTENCES["weights exchanged"], wrong=_faulty("exchanged")),
    "O in place of acc": Mistake(
        "The third is acc / l: the output, already divided.",
        "Divide once, when everything is merged: a merged acc is a sum.",
        wrong=_faulty("divided"),
    ),
    "the other part dropped": Mistake(
        "Only the part with the larger maximum is kept. The scores of the other one count as well.",
        "Both parts stay in the sum, each with its factor.",
        wrong=_faulty("larger part only"),
    ),
    "one part left out": Mistake(
        *SENTENCES["one part left out"], wrong=_faulty("a left out"), also=(_faulty("b left out"),)
    ),
    "halves": Mistake(
        "l and acc are half of what they should be. Both are sums over all scores, and the merged ones "
        "are sums, too.",
        "Add the rescaled parts, and divide by nothing.",
        wrong=_faulty("halved"),
    ),
    "averaged under the weights": Mistake(
        "l and acc are divided by the sum of the two factors, as in a weighted mean. The factors only "
        "bring both parts to one unit: what is merged is a sum.",
        "Add the rescaled parts, and divide by nothing.",
        wrong=_faulty("mean under the weights"),
        also=(_faulty("acc alone averaged"),),
    ),
    "maximum left out": Mistake(
        "Everything is in the unit exp(0): exp(m_a) overflows where the scores are large, and is 0 where "
        "they are far below zero.",
        "The unit is exp(m), m the larger of the two maxima.",
        wrong=_merge_without_maximum,
    ),
}

EMPTY_ROWS = {"a is empty": (0,), "b is empty": (1,), "both are empty": (0, 1)}


def merge_torch_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """m and l [..., R], acc [..., R, D] in fp32, twice; the empty parts hold (−inf, 0, 0)."""
    shape = tuple(size for name, size in case.sizes.items() if name != "D")
    parts: dict[str, Tensor] = {}
    for place, part in enumerate("ab"):
        m = torch.randn(shape, generator=generator) * case.magnitude
        l = 1 + 4 * torch.rand(shape, generator=generator)
        acc = torch.randn(*shape, case.sizes["D"], generator=generator)
        if case.data == "equal maxima":
            m = parts.get("m_a", m).clone()
        if case.data == "one far above":
            m = m + (150.0 if place else 0.0)
        if case.data == "far below zero":
            m = m - 150.0
        for title, empty in EMPTY_ROWS.items():
            if case.data in (title, "some of each") and place in empty:
                rows = slice(None)
                if case.data == "some of each":
                    first = list(EMPTY_ROWS).index(title)
                    rows = slice(first, None, 4)
                m[..., rows], l[..., rows], acc[..., rows, :] = -math.inf, 0.0, 0.0
        parts |= {f"m_{part}": m, f"l_{part}": l, f"acc_{part}": acc}
    return parts


merge_partials_torch = Exercise(
    name="merge_partials_torch",
    lesson="04",
    kind=Kind.TORCH,
    title="The merge for whole tensors, also for empty parts",
    signature="(m_a, l_a, acc_a, m_b, l_b, acc_b) -> (m, l, acc)",
    outputs=("m", "l", "acc"),
    inputs=merge_torch_inputs,
    cases=(
        Case("6 rows, D = 4", {"R": 6, "D": 4}),
        Case("one row, D = 1", {"R": 1, "D": 1}, seed=1),
        Case("B 2, H 3, 5 rows, D = 4", {"B": 2, "H": 3, "R": 5, "D": 4}, seed=2),
        Case("maxima around ±30", {"R": 7, "D": 3}, magnitude=30.0, seed=3),
        Case("equal maxima", {"R": 5, "D": 3}, data="equal maxima", seed=4),
        Case("b far above a", {"R": 5, "D": 3}, data="one far above", seed=5),
        Case("all far below zero", {"R": 5, "D": 3}, data="far below zero", seed=6),
        Case("a is empty", {"R": 4, "D": 3}, data="a is empty", seed=7),
        Case("b is empty", {"R": 4, "D": 3}, data="b is empty", seed=8),
        Case("both are empty", {"R": 4, "D": 3}, data="both are empty", seed=9),
        Case("some rows of each kind", {"H": 2, "R": 9, "D": 4}, data="some of each", seed=10),
    ),
    judged=HowJudged(
        reference=merge,
        twins=(merged_with_one_exponential,),
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
