"""`tuned_backward`: the backward pass, as fast as you can make it.

`MISTAKES` are those of tuning; those of earlier lessons are in `CATALOGUE`, which a check tries after them.
"""

from __future__ import annotations

from flashlearn.exercise import (
    Earlier,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Kind,
    Mistake,
    Prepared,
)
from flashlearn.lessons.lesson_12_tuning.tuned_cases import COMMON, TIMED
from flashlearn.lessons.shared import backward_cases, grouped, readouts, reference
from flashlearn.lessons.shared import grouped_cases as cases
from flashlearn.lessons.shared.attention_cases import ZERO_QUERIES, attention_case, score_count
from flashlearn.lessons.shared.attention_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.attention_mistakes.dkv import dkv
from flashlearn.lessons.shared.attention_mistakes.dq import dq
from flashlearn.lessons.shared.attention_mistakes.gradients import lse_of_zero
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.grouped_cases import flagged
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.running.answer import Answer

formula = faulty_formula(grouped.faulty_backward)


MISTAKES = {
    "log2 e is missing from LSE": Mistake(
        "Your P is 2^(S log2 e − LSE): the scores are in base 2, and LSE is natural.",
        "e^(S − LSE) is 2^((S − LSE) log2 e): S and LSE both carry the factor.",
        **formula("LSE in base 2"),
    ),
    "log2 e left in dQ and dK": Mistake(
        "dQ and dK are multiplied by alpha log2 e, the factor of the exponent; the derivative carries alpha "
        "alone.",
        "S = alpha Q Kᵀ, so dQ = alpha dS K and dK = alpha dSᵀ Q.",
        **formula("log2 e left in dQ and dK"),
    ),
    "log2 e left in dQ": Mistake(
        "dQ is multiplied by alpha log2 e, the factor of the exponent; the derivative carries alpha alone.",
        "S = alpha Q Kᵀ, so dQ = alpha dS K.",
        **formula("log2 e left in dQ"),
    ),
    "log2 e left in dK": Mistake(
        "dK is multiplied by alpha log2 e, the factor of the exponent; the derivative carries alpha alone.",
        "S = alpha Q Kᵀ, so dK = alpha dSᵀ Q.",
        **formula("log2 e left in dK"),
    ),
    "LSE and delta at the head of K": Mistake(
        "For dK and dV, LSE and delta are read at the index of the head of K and V. They have a row for "
        "each head of Q, and a head of K and V serves several of these.",
        "With 4 heads of Q and 2 of K, which rows of LSE and delta belong to the second head of K?",
        **formula(grouped.STATS_AT_K),
    ),
    "alpha is missing after the loop": Mistake(
        "The factor alpha is missing: besides the one in the exponent, dQ = alpha dS K and dK = alpha dSᵀ Q "
        "carry one of their own.",
        "The finished sums of dQ and dK carry alpha once; that of dV does not.",
        **formula("alpha not on dQ", "alpha not on dK"),
    ),
    "LSE along the keys": Mistake(
        "LSE lies along the keys of the tile, where it belongs to the queries. If K comes first in the "
        "product, rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile, and [:, None] in one whose rows are queries.",
        **formula("LSE along the keys"),
    ),
    "delta along the keys": Mistake(
        "delta lies along the keys of the tile, where it belongs to the queries. If K comes first in the "
        "product, rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile, and [:, None] in one whose rows are queries.",
        **formula("delta along the keys"),
    ),
    "one head of the group": Mistake(
        "dK and dV hold the share of one query head; a key that several heads share gets the sum of theirs.",
        "dK and dV of a head of K are sums over the H / H_k heads of Q that use it.",
        **formula("one head of the group", also=(("one head of the group", "the first one"),)),
    ),
    "heads dealt round": Mistake(
        "In your answer head h of Q takes head h % H_k of K and V. The heads of a group are adjacent: head "
        "h uses head h // (H / H_k) of K and V.",
        "With 4 heads of Q and 2 of K, which two heads of Q use the first head of K?",
        **formula(grouped.HEADS),
    ),
    "heads dealt round for dK and dV": Mistake(
        "For dK and dV, head h of K and V is given the heads h, h + H_k, … of Q. The heads of a group are "
        "adjacent: "
        "it serves the H / H_k heads from h · (H / H_k) on.",
        "With 4 heads of Q and 2 of K, which two heads of Q use the first head of K?",
        **formula(grouped.HEADS_OF_KEYS),
    ),
    "no guard for queries that see nothing": Mistake(
        "NaN or infinities appear where a query sees no key: its LSE is −∞, and unless that is replaced, "
        "exp(S − LSE) is NaN or ∞ there.",
        "Which LSE makes exp(S − LSE) 0, whatever S is?",
        **formula("no guard"),
    ),
}


FROM_EARLIER_LESSONS = (
    "alpha is missing from dQ",
    "alpha is missing from dK",
    "alpha on dV",
    "alpha is missing from S",
    "alpha's sign is lost",
    "dK and dV exchanged",
    "dV from O",
    "dS meets K",
    "dP from K",
    "delta omitted",
    "delta subtracted after P",
    "P in front forgotten",
    "LSE forgotten",
    "an LSE of 0 taken for none",
    "log2 e is missing",
    "log2 e is missing from S",
    "accumulated in half precision",
    "padded queries have LSE = −inf",
    "mask forgotten",
    "mask hides the diagonal",
    "mask shows one key too many",
    "mask aligned top-left",
)
"""What goes wrong again when a correct backward pass is rewritten. Where the words of both kernels differ,
those of dQ speak of dK as well."""


def _earlier_mistakes() -> dict[str, Mistake]:
    older = {**dkv(formula), **dq(formula), **causal_only(formula, keys=False), **lse_of_zero(formula)}
    return {name: older[name] for name in FROM_EARLIER_LESSONS}


CATALOGUE = _earlier_mistakes()


def leaves_out_hidden_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a causal kernel multiplies tiles in which no key is seen, else nothing."""
    case = flagged(attention_case(256, 256, 16, seed=60), True)
    return backward_cases.hidden_tiles_sentence(
        hidden_tiles(answer, cases.backward_inputs(case, case.generator()))
    )


tuned_backward = Exercise(
    name="tuned_backward",
    lesson="12",
    kind=Kind.KERNEL,
    title="The backward pass, as fast as you can make it",
    signature="(q, k, v, o, do, lse, causal, alpha) -> (dq, dk, dv)",
    outputs=("dq", "dk", "dv"),
    inputs=cases.backward_inputs,
    cases=(*COMMON, flagged(attention_case(1, 1, 16, B=2, H=3, data=ZERO_QUERIES, seed=23), False)),
    judged=HowJudged(
        reference=grouped.backward(reference.attention_gradients),
        twins=tuple(map(grouped.backward, cases.BACKWARD_TWINS)),
        gradient=True,
        atomics=True,
        work=cases.backward_work,
        grows=score_count,
        real_sizes={"B": 32, "H": 16, "S": 65536, "D": 128},
        review=leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        quantities=cases.backward_quantities,
        weights=readouts.gradient_readouts(),
        mistakes=MISTAKES,
        catalogue=CATALOGUE,
    ),
    timed=HowTimed(
        peer=cases.sdpa_backward,
        peer_name="sdpa_flash",
        peers={"sdpa_cudnn": Prepared(cases.cudnn_backward)},
        grades=cases.BACKWARD_GRADES,
        case=TIMED,
    ),
    points=5,
    solution="flashlearn.kernels.tuned_backward:tuned_backward",
)
