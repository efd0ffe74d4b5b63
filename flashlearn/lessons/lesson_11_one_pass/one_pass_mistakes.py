"""The named mistakes of lesson 11: what people get wrong when one kernel makes all three gradients."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_11_one_pass.faulty_formulas import fused_scan
from flashlearn.lessons.lesson_11_one_pass.faulty_kernels import faulty
from flashlearn.lessons.shared.attention_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.attention_mistakes.gradients import ALPHA_SIGNS, lse_of_zero
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
            "The scores must be what the forward pass had, alpha · q · k, or exp(S − LSE) is not a "
            "probability.",
            **formula("alpha not in s"),
        ),
        "alpha's sign is lost": Mistake(
            "With a negative alpha the sign is wrong, as if |alpha|, or 1/√D, were used in place of alpha, "
            "in S, at the end, or in both.",
            "alpha is an argument and may be any number: use it as it is.",
            **formula(*ALPHA_SIGNS, also=(*ALPHA_SIGNS,)),
        ),
        "alpha is missing from dQ": Mistake(
            "dQ lacks the factor alpha. S = alpha Q Kᵀ: dQ and dK both carry it.",
            "dQ = alpha dS K.",
            **formula("alpha not on dQ"),
        ),
        "alpha is missing from dK": Mistake(
            "dK lacks the factor alpha. S = alpha Q Kᵀ: dQ and dK both carry it.",
            "dK = alpha dSᵀ Q.",
            **formula("alpha not on dK"),
        ),
        "alpha is missing from dQ and dK": Mistake(
            "dQ and dK lack the factor alpha. It is in s, to rebuild P; going back through S = alpha Q "
            "Kᵀ brings it once more.",
            "dQ = alpha dS K and dK = alpha dSᵀ Q.",
            **formula("alpha not on dQ", "alpha not on dK"),
        ),
        "alpha twice in dQ and dK": Mistake(
            "dQ and dK carry alpha twice.",
            "dQ = alpha dS K and dK = alpha dSᵀ Q, where dS = P ∘ (dP − delta).",
            **formula("alpha in dS", also=(("alpha twice on dQ", "alpha twice on dK"),)),
        ),
        "alpha applied twice to dQ": Mistake(
            "dQ carries alpha twice, and dK once.",
            "dQ = alpha dS K, where dS = P ∘ (dP − delta).",
            **formula("alpha twice on dQ"),
        ),
        "alpha applied twice to dK": Mistake(
            "dK carries alpha twice, and dQ once.",
            "dK = alpha dSᵀ Q, where dS = P ∘ (dP − delta).",
            **formula("alpha twice on dK"),
        ),
        "alpha on dV": Mistake(
            "dV carries a factor alpha. O = P V has no alpha of its own, so dV = Pᵀ dO has none.",
            "Scale dQ and dK alone.",
            **formula("alpha on dV"),
        ),
    }


def tile_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """P, dP and dS of a tile, and which tiles meet in the three products after them."""
    return {
        "delta omitted": Mistake(
            "delta is missing: dS comes out as P ∘ dP. dQ and dK show it; dV does not need delta.",
            "dS_ij = P_ij (dP_ij − delta_i).",
            **formula("delta omitted"),
        ),
        "delta subtracted after P": Mistake(
            "dS comes out as P ∘ dP − delta: P multiplies dP alone, and delta is subtracted at full weight "
            "from every key.",
            "P multiplies the difference of dP and delta: mind the parentheses.",
            **formula("delta after P"),
        ),
        "delta added": Mistake(
            "delta is added where it must be subtracted: dS comes out as P ∘ (dP + delta).",
            "dS_ij = P_ij (dP_ij − delta_i): each row of dS sums to 0.",
            **formula("delta added"),
        ),
        "delta along the keys": Mistake(
            "delta lies along the keys: in each tile, the delta of the n-th query is subtracted from the "
            "numbers of the n-th key. The shapes fit because the tile is square.",
            "Along which axis of your tile do the queries lie, rows ([:, None]) or columns ([None, :])?",
            **formula("delta along the keys"),
        ),
        "LSE along the keys": Mistake(
            "LSE lies along the keys: in each tile, the LSE of the n-th query is subtracted from the "
            "scores of the n-th key. The shapes fit because the tile is square.",
            "Along which axis of your tile do the queries lie, rows ([:, None]) or columns ([None, :])?",
            **formula("LSE along the keys"),
        ),
        "LSE forgotten": Mistake(
            "P comes out as exp(s): LSE is not subtracted, so no row of P sums to 1.",
            "P = exp(S − LSE): the forward pass saved LSE for this.",
            **formula("LSE forgotten"),
        ),
        "LSE read as base 2": Mistake(
            "Your P is 2^(S log2 e − LSE), and this LSE is a natural logarithm: each row of P is off by a "
            "factor of its own, (e/2)^LSE.",
            "e^(S − LSE) is 2^((S − LSE) log2 e): S and LSE both carry the factor.",
            **formula("LSE in base 2"),
        ),
        "P in front forgotten": Mistake(
            "dS comes out as dP − delta, without the factor P.",
            "dS_ij = P_ij (dP_ij − delta_i): a key that gets no weight gets no gradient.",
            **formula("P forgotten in dS"),
        ),
        "dP from K": Mistake(
            "dP was computed as dO Kᵀ. O = P V, so dO is multiplied by V: dP = dO Vᵀ.",
            "O = P V, so dP is made of dO and V.",
            **formula("dP from K"),
        ),
        "dP from O": Mistake(
            "dP was computed as O Vᵀ. It is the loss's derivative by P, so it starts from dO: dP = dO Vᵀ.",
            "O is needed for delta only.",
            **formula("dP from O"),
        ),
        "dV from O": Mistake(
            "dV was computed as Pᵀ O. The incoming gradient is dO: dV = Pᵀ dO.",
            "O is needed for delta only.",
            **formula("dV from O"),
        ),
        "dV from dS": Mistake(
            "dV was computed as dSᵀ dO. O = P V, so it is P that weighs dO: dV = Pᵀ dO.",
            "Three sums, two weights: dV takes P; dQ and dK take dS.",
            **formula("dV from dS"),
        ),
        "dK from dO": Mistake(
            "dK was computed as dSᵀ dO. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q.",
            "dV takes dO, and dK takes Q.",
            **formula("dS meets dO"),
        ),
        "dS meets K in dK": Mistake(
            "dK was computed as dSᵀ K. The derivative of alpha Q Kᵀ by K brings Q: dK = alpha dSᵀ Q. The "
            "shapes fit because the tile is square.",
            "dS is multiplied by K for dQ and, transposed, by Q for dK.",
            **formula("dS meets K"),
        ),
        "dQ from V": Mistake(
            "dQ's shares are dS V. S = alpha Q Kᵀ, so the derivative by Q brings K.",
            "Which of K and V is a factor of S?",
            **formula("dS meets V"),
        ),
        "dQ from dS transposed": Mistake(
            "dQ is made of dSᵀ K. The shapes fit because the tile is square; the sum runs over queries "
            "where it must run over keys.",
            "dQ sums over keys: along which axis of dS do they lie?",
            **formula("dS transposed"),
        ),
        "dS not transposed in dK": Mistake(
            "dK is made of dS Q. The shapes fit because the tile is square; the sum runs over keys where "
            "it must run over queries.",
            "dK sums over queries: along which axis of dS do they lie?",
            **formula("dS not transposed"),
        ),
        "P not transposed": Mistake(
            "dV is the sum of P dO, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dV sums over queries: along which axis of P do they lie?",
            **formula("P not transposed"),
        ),
        "dK and dV exchanged": Mistake(
            "dK and dV are swapped.",
            "The launcher returns dq, dk and dv, in this order.",
            **formula("exchanged"),
        ),
        "padded keys get a probability": Mistake(
            "Where all scores are far below 0, dQ is NaN, as it would be if padded keys took part: with the "
            "score 0, P = exp(0 − LSE) is infinite where LSE is below −88, and ∞ · 0 is NaN. In dK and dV "
            "it does no harm.",
            "P of the keys from S_k on has to be 0 before any product.",
            **formula("padded keys"),
        ),
        "the causal mask is always on": Mistake(
            "The mask hides later keys although causal is False.",
            "Where causal is False, every query sees every key.",
            **formula("always causal"),
        ),
    }


def atomic_mistakes(formula: FaultyFormula, launcher: str, name: str, whose: str) -> dict[str, Mistake]:
    """What goes wrong where several programs add to one sum: dQ, or dK and dV."""
    return {
        "load, add, store": Mistake(
            f"Several programs have a share of each row of {name}. A program that loads the sum, adds its "
            "share and stores loses what another program has stored in between.",
            "One instruction has to do all three: an atomic addition.",
            launcher=faulty(launcher, "load, add, store"),
            status=Status.RACE,
        ),
        "shares added without a mask": Mistake(
            "An atomic touches memory as a store does: lanes beyond the last row, and where D is padded "
            "beyond the last column, lie outside, or in the next head.",
            "The mask of a share leaves out rows beyond the last one, and columns from D on.",
            launcher=faulty(launcher, "no mask"),
            status=Status.OUT_OF_BOUNDS,
        ),
        "summed in half precision": Mistake(
            f"{name} {whose} summed in half precision: every addition rounds, once per share, and the errors "
            f"add up over the blocks.",
            "The memory that programs add to is fp32; the launcher converts it once, at the end.",
            launcher=faulty(launcher, "sum in half"),
        ),
        "all heads add to one": Mistake(
            f"{name} of the first head {whose} the sum of all heads', and the "
            f"others' {whose} zero: the address of the addition does not tell heads apart.",
            "Each head has sums of its own.",
            **formula("one sum for all heads"),
        ),
    }


def overwritten_sum(formula: FaultyFormula, name: str) -> Mistake:
    """The sum that a program carries is overwritten in every step."""
    return Mistake(
        f"{name} the last tile's share alone, as if each step overwrote what the steps before it found.",
        "After each step, the sum holds the shares of all tiles so far.",
        **formula("last tile alone"),
    )


def query_loop_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """The bounds of a program that owns keys."""
    return {
        "only the last tile remains": overwritten_sum(formula, "dK and dV hold"),
        "padded queries repeat the last one": Mistake(
            "The last query is counted again for each padded row, as if row numbers were clamped to S_q − 1.",
            "The rows from S_q on must not count in the sums over queries.",
            **formula("clamped rows"),
        ),
        "loop over S_k": Mistake(
            "The loop over queries ends at S_k, the number of keys: where the queries fill more tiles than "
            "the keys, the last of them are missing.",
            "How many queries are there?",
            **formula("ends at S_k"),
        ),
        "the last, incomplete block of queries is left out": Mistake(
            "The last block of queries, which is not full, gets no dQ and is missing from dK and dV, as "
            "if there were only S_q // BLOCK_Q blocks.",
            "Each query up to S_q − 1 belongs to a block, also where the last block is not full.",
            **formula("whole blocks only"),
        ),
        "loop starts one block late": Mistake(
            "The first tile of queries that sees these keys is never visited.",
            "The first query that sees key j is i = j − (S_k − S_q).",
            **formula("starts one block late"),
        ),
        "loop start without S_k − S_q": Mistake(
            "Tiles of queries before the program's own block of keys are left out, as if the diagonal "
            "began in the top-left corner. With more keys than queries, some of these queries see the keys.",
            "The first query that sees key j is i = j − (S_k − S_q), or 0 where that is negative.",
            **formula("starts at the top-left diagonal"),
        ),
        "loop start with the wrong sign": Mistake(
            "The tiles of queries begin at the first key plus S_k − S_q, where it should be minus.",
            "The first query that sees key j is i = j − (S_k − S_q).",
            **formula("bound negated"),
        ),
    }


def key_loop_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """The bounds of a program that owns queries."""
    return {
        "only the last tile remains": overwritten_sum(formula, "dQ holds"),
        "padded queries repeat the last one": Mistake(
            "The last query is counted again for each padded row, as if row numbers were clamped to S_q − 1.",
            "The rows from S_q on must not count in the sums over queries.",
            **formula("clamped rows"),
        ),
        "loop over S_q": Mistake(
            "The keys end at S_q, the number of queries: where there are more keys than queries, some are "
            "missing.",
            "How many keys are there?",
            **formula("ends at S_q"),
        ),
        "the last, incomplete block of keys is left out": Mistake(
            "The last block of keys, which is not full, gets no dK and no dV and is missing from dQ, as "
            "if there were only S_k // BLOCK_K blocks.",
            "Each key up to S_k − 1 belongs to a block, also where the last block is not full.",
            **formula("whole blocks only"),
        ),
        "loop ends one block early": Mistake(
            "The last tile of keys that these queries see is never visited.",
            "The last key that a block sees is the last one of its last query.",
            **formula("ends one block early"),
        ),
        "loop ends at the last key itself": Mistake(
            "The tile that begins with the last key that the block's queries see is left out, as if the loop "
            "ended at this key itself, and not after it.",
            "If the last key that is seen has the number 64, in which tile of 32 keys does it lie?",
            **formula("ends at the last key"),
        ),
        "loop end without S_k − S_q": Mistake(
            "Tiles of keys beyond the program's own block of queries are left out, as if the diagonal "
            "began in the top-left corner. With more keys than queries, these queries see some of them.",
            "Query i sees the keys up to i + S_k − S_q.",
            **formula("ends at the top-left diagonal"),
        ),
        "loop end with the wrong sign": Mistake(
            "The tiles of keys end S_q − S_k after the end of the block; they should end S_k − S_q.",
            "Query i sees the keys up to i + S_k − S_q.",
            **formula("bound negated"),
        ),
    }


def select(known: dict[str, Mistake], *names: str) -> dict[str, Mistake]:
    """The mistakes of these names."""
    return {name: known[name] for name in names}


KEYS_CATALOGUE = {
    **alpha_mistakes(key_formula),
    **tile_mistakes(key_formula),
    **lse_of_zero(key_formula),
    **causal_only(key_formula, keys=True),
    **query_loop_mistakes(key_formula),
}
"""Mistakes of lessons 07 and 08 that a program that owns keys can still make."""
QUERIES_CATALOGUE = {
    **alpha_mistakes(query_formula),
    **tile_mistakes(query_formula),
    **lse_of_zero(query_formula),
    **causal_only(query_formula, keys=True),
    **key_loop_mistakes(query_formula),
}
"""The same for a program that owns queries."""
