"""The named mistakes of lesson 11: what people get wrong when one kernel makes all three gradients."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_11_one_pass.faulty_formulas import fused_scan
from flashlearn.lessons.lesson_11_one_pass.faulty_kernels import faulty
from flashlearn.lessons.shared.attention_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.attention_mistakes.gradients import ALPHA_SIGNS
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula, faulty_formula
from flashlearn.outcome import Status

key_formula = faulty_formula(fused_scan, owner="keys")
query_formula = faulty_formula(fused_scan, owner="queries")


def alpha_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """Where alpha goes, and where it does not."""
    return {
        "alpha is missing from S": Mistake(
            "P is not the forward pass's: the scores were rebuilt as Q Kᵀ, without alpha. All three "
            "gradients are made from it.",
            "s must be what the forward pass had, alpha · q · k, or exp(s − lse) is no probability.",
            **formula("alpha not in s"),
        ),
        "alpha's sign is lost": Mistake(
            "With a negative alpha the sign is wrong: |alpha|, or 1/√D, is used in place of alpha, in S, at "
            "the end, or in both.",
            "alpha is an argument and may be any number: use it as it is.",
            **formula(*ALPHA_SIGNS, also=(*ALPHA_SIGNS,)),
        ),
        "alpha is missing from dQ": Mistake(
            "dQ lacks the factor alpha, and dK has it: S = alpha Q Kᵀ holds both.",
            "Multiply what goes into dQ by alpha, once.",
            **formula("alpha not on dQ"),
        ),
        "alpha is missing from dK": Mistake(
            "dK lacks the factor alpha, and dQ has it: S = alpha Q Kᵀ holds both.",
            "Multiply what goes into dK by alpha, once; leave dV as it is.",
            **formula("alpha not on dK"),
        ),
        "alpha is missing from dQ and dK": Mistake(
            "dQ and dK lack the factor alpha. It is in s, to rebuild P; going back through S = alpha Q "
            "Kᵀ brings it once more.",
            "Multiply what goes into dQ, and what goes into dK, by alpha. dV has none.",
            **formula("alpha not on dQ", "alpha not on dK"),
        ),
        "alpha twice in dQ and dK": Mistake(
            "dQ and dK carry alpha twice: once in dS, which both are made of, and once more each, perhaps.",
            "Scale dS, or each of the two, and not both.",
            **formula("alpha in dS", also=(("alpha twice on dQ", "alpha twice on dK"),)),
        ),
        "alpha applied twice to dQ": Mistake(
            "dQ carries alpha twice, and dK once.",
            "Count alpha on the way to dQ: in dS, on the share, in the launcher?",
            **formula("alpha twice on dQ"),
        ),
        "alpha applied twice to dK": Mistake(
            "dK carries alpha twice, and dQ once.",
            "Count alpha on the way to dK: in dS, on the share or the sum, in the launcher?",
            **formula("alpha twice on dK"),
        ),
        "alpha on dV": Mistake(
            "dV is multiplied by alpha. O = P V has no alpha of its own, so dV = Pᵀ dO has none.",
            "Scale dQ and dK alone.",
            **formula("alpha on dV"),
        ),
    }


def tile_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """P, dP and dS of a tile, and which tiles meet in the three products after them."""
    return {
        "delta omitted": Mistake(
            "delta is missing: you used dS = P ∘ dP. dQ and dK show it; dV does not need delta.",
            "Subtract delta_i from every dP of row i before you multiply by P.",
            **formula("delta omitted"),
        ),
        "delta subtracted after P": Mistake(
            "You used dS = P ∘ dP − delta: P multiplies dP alone, and delta is subtracted at full weight "
            "from every key.",
            "P multiplies the difference: p * (dp - delta_i[:, None]). Mind the parentheses.",
            **formula("delta after P"),
        ),
        "delta added": Mistake(
            "delta was added where it must be subtracted: dS = P ∘ (dP + delta).",
            "Each row of dS must sum to 0. Print the sums of one tile row.",
            **formula("delta added"),
        ),
        "delta along the keys": Mistake(
            "delta_i lies along the wrong axis: number j of the tile was subtracted from column j. The "
            "shapes fit because the tile is square.",
            "delta belongs to the queries: where rows count queries, that is delta_i[:, None].",
            **formula("delta along the keys"),
        ),
        "LSE along the keys": Mistake(
            "lse_i lies along the wrong axis: number j of the tile was subtracted from column j. The "
            "shapes fit because the tile is square.",
            "LSE belongs to the queries: where rows count queries, that is lse_i[:, None].",
            **formula("LSE along the keys"),
        ),
        "LSE forgotten": Mistake(
            "P was computed as exp(s): LSE is not subtracted, so no row of P sums to 1.",
            "exp(s - lse_i[:, None]): the forward pass saved LSE for this.",
            **formula("LSE forgotten"),
        ),
        "LSE read as base 2": Mistake(
            "P is too large by a power of LSE: you computed 2^(S log2 e − LSE), and this LSE is a natural "
            "logarithm.",
            "Use tl.exp(s - lse), or multiply lse by log2(e) as well before tl.exp2.",
            **formula("LSE in base 2"),
        ),
        "P in front forgotten": Mistake(
            "You used dS = dP − delta, without the factor P.",
            "dS_ij = P_ij (dP_ij − delta_i): a key that gets no weight gets no gradient.",
            **formula("P forgotten in dS"),
        ),
        "dP from K": Mistake(
            "dP was computed as dO Kᵀ. O = P V, so dO meets V: dP = dO Vᵀ.",
            "Compare the operands of the product that makes dp with O = P V.",
            **formula("dP from K"),
        ),
        "dP from O": Mistake(
            "dP was computed as O Vᵀ. It is the loss's derivative by P, so it starts from dO: dP = dO Vᵀ.",
            "O is needed for delta only.",
            **formula("dP from O"),
        ),
        "dV from O": Mistake(
            "dV was computed as Pᵀ O. The gradient comes from above: dV = Pᵀ dO.",
            "The launcher needs O for delta only.",
            **formula("dV from O"),
        ),
        "dV from dS": Mistake(
            "dV was computed as dSᵀ dO. O = P V, so it is P that weighs dO: dV = Pᵀ dO.",
            "Three sums, two weights: dV takes p; dQ and dK take ds.",
            **formula("dV from dS"),
        ),
        "dK from dO": Mistake(
            "dK was computed as dSᵀ dO. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q.",
            "dV takes do, dK takes q.",
            **formula("dS meets dO"),
        ),
        "dS meets K in dK": Mistake(
            "dK was computed as dSᵀ K. The derivative of alpha Q Kᵀ by K brings Q: dK = alpha dSᵀ Q. The "
            "shapes fit because the tile is square.",
            "ds meets k for dQ, and, transposed, q for dK.",
            **formula("dS meets K"),
        ),
        "dQ from V": Mistake(
            "dQ's share was computed as dS V. S = alpha Q Kᵀ, so the derivative by Q brings K.",
            "Two tiles of keys are at hand, k and v. Which of them is a factor of S?",
            **formula("dS meets V"),
        ),
        "dQ from dS transposed": Mistake(
            "dQ was made from the transposed tile: dSᵀ K. The shapes fit because the tile is square; the sum "
            "runs over queries where it must run over keys.",
            "dQ takes ds as it is, dK takes it transposed. Two uses, one transpose.",
            **formula("dS transposed"),
        ),
        "dS not transposed in dK": Mistake(
            "dK was made from ds as it is: dS Q. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dQ takes ds as it is, dK takes it transposed. Two uses, one transpose.",
            **formula("dS not transposed"),
        ),
        "P not transposed": Mistake(
            "dV was computed as P dO, tile by tile. The shapes fit because the tile is square; the sum "
            "runs over keys where it must run over queries.",
            "dV sums over queries, the rows of P: tl.trans(p) comes first.",
            **formula("P not transposed"),
        ),
        "dK and dV exchanged": Mistake(
            "dK and dV are in each other's place.",
            "The launcher returns (dq, dk, dv), in this order; look at the stores, too.",
            **formula("exchanged"),
        ),
        "padded keys get a probability": Mistake(
            "A padded key has k = 0, so s = 0 and P = exp(0 − LSE), which is infinite where LSE is below "
            "−88. Beside dK and dV it does no harm; but ∞ · 0 is NaN, and here the sum over keys takes it "
            "into dQ.",
            "Set s to −inf where the key does not exist, as in lesson 07.",
            **formula("padded keys"),
        ),
        "the causal mask is always on": Mistake(
            "The mask hides later keys although causal is False.",
            "The argument causal has to reach the kernel: IS_CAUSAL=causal.",
            **formula("always causal"),
        ),
    }


def atomic_mistakes(formula: FaultyFormula, launcher: str, name: str, whose: str) -> dict[str, Mistake]:
    """What goes wrong where several programs add to one sum: dQ, or dK and dV."""
    return {
        "load, add, store": Mistake(
            f"Several programs have a share of each row of {name}, and each loads the sum, adds its own, and "
            "stores. Between the load and the store of one another may have stored, and that share is lost.",
            "One instruction has to do all three: tl.atomic_add(pointers, share, mask=…).",
            launcher=faulty(launcher, "load, add, store"),
            status=Status.RACE,
        ),
        "shares added without a mask": Mistake(
            "An atomic touches memory as a store does: lanes beyond the last row, and for D below BLOCK_D "
            "beyond the last column, lie outside, or in the next head.",
            "The share's mask is that of the tile it belongs to.",
            launcher=faulty(launcher, "no mask"),
            status=Status.OUT_OF_BOUNDS,
        ),
        "summed in half precision": Mistake(
            f"{name} {whose} summed in the inputs' dtype: with half precision every addition rounds, once "
            f"per share, and the errors add up over the blocks.",
            "The memory that programs add to is fp32; the launcher converts it once, at the end.",
            launcher=faulty(launcher, "sum in half"),
        ),
        "all heads add to one": Mistake(
            f"{name} of the first head {whose} the sum of all heads', and the others' {whose} zero: the "
            f"address of the atomic does not contain the head.",
            "Each head has sums of its own: the pointer moves by rows times D from head to head.",
            **formula("one sum for all heads"),
        ),
    }


def overwritten_sum(formula: FaultyFormula, name: str) -> Mistake:
    """The sum that a program carries is overwritten in every step."""
    return Mistake(
        f"{name} the last tile's share alone: each step overwrites what the steps before it found.",
        "Add to the sums that stay in registers, starting from zeros.",
        **formula("last tile alone"),
    )


def query_loop_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """The bounds of a program that owns keys."""
    return {
        "only the last tile remains": overwritten_sum(formula, "dk and dv hold"),
        "padded queries repeat the last one": Mistake(
            "The row indices are clamped to S_q − 1, so every padded row is the last query once more: dK "
            "and dV get its share again and again.",
            "Mask the rows from S_q on: their P must be 0.",
            **formula("clamped rows"),
        ),
        "loop over S_k": Mistake(
            "The loop over queries ends at S_k, the number of keys: where there are more queries than "
            "keys, some are missing.",
            "This program scans queries: range(…, S_q, BLOCK_Q).",
            **formula("ends at S_k"),
        ),
        "the last, incomplete block of queries is left out": Mistake(
            "The loop covers only whole blocks of queries: S_q // BLOCK_Q of them. The rest gets no dQ, "
            "and is missing from dK and dV.",
            "The range takes the last block too; the mask handles the rest.",
            **formula("whole blocks only"),
        ),
        "loop starts one block late": Mistake(
            "The loop begins after the tile in which it has to begin: every key misses its nearest queries.",
            "The first query that sees key j is i = j − (S_k − S_q); begin with the block that holds it.",
            **formula("starts one block late"),
        ),
        "loop start without S_k − S_q": Mistake(
            "The loop begins at the program's own block of keys, as if the diagonal began in the top-left "
            "corner. With more keys than queries, visible tiles are left out.",
            "Shift the start by S_k − S_q, as in the mask, and no further than to 0.",
            **formula("starts at the top-left diagonal"),
        ),
    }


def key_loop_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """The bounds of a program that owns queries."""
    return {
        "only the last tile remains": overwritten_sum(formula, "dq holds"),
        "padded queries repeat the last one": Mistake(
            "The row indices are clamped to S_q − 1, so every padded row is the last query once more, and "
            "adds its shares of dK and dV again and again.",
            "Mask the rows from S_q on: their P must be 0.",
            **formula("clamped rows"),
        ),
        "loop over S_q": Mistake(
            "The loop over keys ends at S_q, the number of queries: where there are more keys than "
            "queries, some are missing.",
            "This program scans keys: range(0, S_k, BLOCK_K).",
            **formula("ends at S_q"),
        ),
        "the last, incomplete block of keys is left out": Mistake(
            "The loop covers only whole blocks of keys: S_k // BLOCK_K of them. The rest gets no dK and no "
            "dV, and is missing from dQ.",
            "The range takes the last block too; the mask handles the rest.",
            **formula("whole blocks only"),
        ),
        "loop ends one block early": Mistake(
            "The loop ends one block early: the last tile that these queries see is never met.",
            "Causal, the loop has to reach the last key that the block's last query sees.",
            **formula("ends one block early"),
        ),
        "loop end without S_k − S_q": Mistake(
            "The loop ends at the block's own diagonal, as if it began in the top-left corner. With more "
            "keys than queries, visible tiles are left out.",
            "Shift the end by S_k − S_q, as in the mask.",
            **formula("ends at the top-left diagonal"),
        ),
    }


def select(known: dict[str, Mistake], *names: str) -> dict[str, Mistake]:
    """The mistakes of these names."""
    return {name: known[name] for name in names}


KEYS_CATALOGUE = {
    **alpha_mistakes(key_formula),
    **tile_mistakes(key_formula),
    **causal_only(key_formula, keys=True),
    **query_loop_mistakes(key_formula),
}
"""Mistakes of lessons 07 and 08 that a program that owns keys can still make."""
QUERIES_CATALOGUE = {
    **alpha_mistakes(query_formula),
    **tile_mistakes(query_formula),
    **causal_only(query_formula, keys=True),
    **key_loop_mistakes(query_formula),
}
"""The same for a program that owns queries."""
