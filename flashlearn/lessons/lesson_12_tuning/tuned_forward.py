"""`tuned_forward`: the forward pass, as fast as you can make it.

`MISTAKES` are those of tuning; those of earlier lessons are in `CATALOGUE`, which a check tries after them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import torch
from torch.nn.attention import SDPBackend

from flashlearn.exercise import (
    Case,
    Earlier,
    Exercise,
    Grade,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Mistake,
)
from flashlearn.kernels import torch_attention
from flashlearn.lessons.lesson_12_tuning.tuned_cases import COMMON, TIMED
from flashlearn.lessons.shared import grouped, readouts, reference
from flashlearn.lessons.shared import grouped_cases as cases
from flashlearn.lessons.shared.attention_cases import attention_case, forward_inputs, score_count
from flashlearn.lessons.shared.attention_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.attention_mistakes.forward import forward
from flashlearn.lessons.shared.attention_mistakes.shared_heads import at_heads_of_q
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.grouped_cases import flagged
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.running.answer import Answer

formula = faulty_formula(grouped.faulty_forward)


MISTAKES = {
    "alpha folded into the maximum": Mistake(
        "For alpha < 0 the largest q · k gives the smallest score, and the exponentials are taken relative "
        "to it: once the scores lie some 88 apart, that is ∞/∞.",
        "With alpha's sign in Q and the factor |alpha|, the largest product gives the largest score.",
        **formula("maximum before alpha"),
    ),
    "LSE in base 2": Mistake(
        "The maximum in LSE, the logarithm of the sum, or both are in base 2. The backward pass expects a "
        "natural logarithm.",
        "An exponent or a logarithm to base 2 becomes natural when it is multiplied by ln 2.",
        **formula("lse in base 2", also=("lse mixes bases", "lse mixes bases in m")),
    ),
    "log2 e is missing": Mistake(
        "P is 2^(S − m), not e^(S − m): the factor that turns 2^y into e^y, log2 e, is missing.",
        "Where does log2 e = 1.4427 come into the exponents, beside alpha?",
        **formula("exp2 of natural numbers", also=(("exp2 of natural numbers", "lse of the base-2 sum"),)),
    ),
    "Q scaled in its own dtype": Mistake(
        "Q is multiplied by alpha log2 e and rounded back to its dtype before the product. O hardly shows "
        "it; LSE does.",
        "Applied to the fp32 scores the factor costs nothing: x · c − m · c is one fused multiply-add.",
        **formula("q scaled in its dtype"),
    ),
    "no mask on the diagonal": Mistake(
        "In the tiles that the diagonal crosses, queries see later keys: no mask hides them there.",
        "A tile needs no mask only if the block's first query sees all of its keys.",
        **formula("whole tiles by the last query", also=("only whole tiles",)),
    ),
    "a tile between the loops": Mistake(
        "A tile is left out: the first one that needs a mask.",
        "The tiles that need a mask begin exactly where those that need none end.",
        **formula("tile after the whole ones skipped"),
    ),
    "heads dealt round": Mistake(
        "In your answer head h of Q takes head h % H_k of K and V. The heads of a group are adjacent: head "
        "h uses head h // (H / H_k) of K and V.",
        "With 4 heads of Q and 2 of K, which two heads of Q use the first head of K?",
        **formula(grouped.HEADS),
    ),
    **at_heads_of_q(formula),
    "stored where the program's number says": Mistake(
        "Blocks of queries are computed in one order and stored in the reverse one.",
        "The rows of O that a program stores have the numbers of the rows of Q that it loads.",
        **formula("stored where the program's number says"),
    ),
}


FROM_EARLIER_LESSONS = (
    "alpha forgotten",
    "alpha's sign is lost",
    "acc not rescaled",
    "the new product is rescaled too",
    "l not rescaled",
    "the new sum is rescaled too",
    "acc rescaled twice",
    "the maximum is not subtracted",
    "not divided by l",
    "LSE without m",
    "LSE without log l",
    "mask before alpha",
    "K and V of the first head",
    "padded keys are not masked",
    "one padded key is not masked",
    "loop ends one tile early",
    "no causal mask",
    "the diagonal is hidden",
    "one key too many",
    "top-left alignment",
    "loop end without S_k − S_q",
    "loop ends at the last key itself",
    "rows that see nothing are NaN",
    "a finite number for −inf",
)
"""What goes wrong again when a correct forward pass is rewritten."""

IN_MASKED_TILES = {
    "top-left alignment": "top-left mask",
    "one key too many": "one key too many in the mask",
    "the diagonal is hidden": "diagonal hidden",
}
"""Mistakes of the mask, which a kernel with two loops makes in the second one alone."""


def _earlier_mistakes() -> dict[str, Mistake]:
    """What lesson 06 is about, where a kernel has two loops, too."""
    older = {**forward(formula), **causal_forward(formula)}
    for name, fault in IN_MASKED_TILES.items():
        split = formula(fault, "whole tiles unmasked")["wrong"]
        older[name] = replace(older[name], also=(*older[name].also, split))
    return {name: older[name] for name in FROM_EARLIER_LESSONS}


CATALOGUE = _earlier_mistakes()


def launcher_inputs(case: Case, causal: bool) -> Inputs:
    """q, k, v, causal and alpha of a case."""
    given = forward_inputs(case, case.generator())
    return {**{name: given[name] for name in "qkv"}, "causal": causal, "alpha": given["alpha"]}


def leaves_out_hidden_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a causal kernel multiplies tiles in which no key is seen, else nothing."""
    case = attention_case(256, 256, 16, seed=65)
    count = hidden_tiles(answer, launcher_inputs(case, causal=True))
    if not count:
        return ""
    tiles = "a tile" if count == 1 else f"{count} tiles"
    return (
        f"The result is right, but at S 256 your kernel multiplies {tiles} of queries and keys in which no "
        "query sees a key. Let the loop end after the last key that the block's last query sees."
    )


CASES = (
    *COMMON,
    dataclasses.replace(
        flagged(attention_case(20, 300, 16, magnitude=10.0, data="negative alpha", seed=15), True),
        name="S 20 × 300, D 16, values ×10, negative alpha, causal",
    ),
    flagged(attention_case(12, 20, 16, H=2, data="alpha 0", seed=16), True),
    flagged(attention_case(37, 64, 16, magnitude=10.0, seed=17), False),
    flagged(attention_case(1, 1, 16, B=2, H=3, magnitude=3000.0, seed=22), False),  # scores to −10⁷
)


GRADES = (*cases.FORWARD_GRADES[:2], Grade("gold", 0.85, "sdpa_cudnn"))
"""Gold is within a Triton kernel's reach: on an H200 the course's own reached 0.89 to 0.91."""


tuned_forward = Exercise(
    name="tuned_forward",
    lesson="12",
    kind=Kind.KERNEL,
    title="The forward pass, as fast as you can make it",
    signature="(q, k, v, causal, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=cases.forward_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=grouped.forward(reference.attention_forward),
        twins=tuple(map(grouped.forward, cases.FORWARD_TWINS)),
        output_dtypes={"lse": torch.float32},
        work=cases.forward_work,
        grows=score_count,
        real_sizes={"B": 32, "H": 16, "S": 65536, "D": 128},
        review=leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        quantities=cases.forward_quantities,
        weights=readouts.readout(readouts.forward_weights),
        mistakes=MISTAKES,
        catalogue=CATALOGUE,
    ),
    timed=HowTimed(
        peer=torch_attention.by_backend(SDPBackend.FLASH_ATTENTION),
        peer_name="sdpa_flash",
        peers={"sdpa_cudnn": torch_attention.by_backend(SDPBackend.CUDNN_ATTENTION)},
        grades=GRADES,
        case=TIMED,
    ),
    points=5,
    solution="flashlearn.kernels.tuned_forward:tuned_forward",
)
