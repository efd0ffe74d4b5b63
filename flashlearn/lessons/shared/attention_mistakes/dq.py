"""What people get wrong about dQ."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.attention_mistakes.gradients import common
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula


def dq(formula: FaultyFormula) -> dict[str, Mistake]:
    """The mistakes of a kernel that owns queries, scans keys and makes dQ."""
    return {
        "alpha is missing from dQ": Mistake(
            "dQ lacks the factor alpha: S = alpha Q Kᵀ, so the derivative by Q carries alpha once more.",
            "dQ = alpha dS K: the sum over the keys is multiplied by alpha once.",
            **formula("alpha not on dQ"),
        ),
        "alpha applied twice": Mistake(
            "dQ carries alpha twice.",
            "dQ = alpha dS K has one factor alpha: where does each of yours come in?",
            **formula("alpha twice on dQ"),
        ),
        "alpha in every step": Mistake(
            "dQ is multiplied by alpha in every step of the loop: the first tile's share carries alpha as "
            "often as there are tiles. With a single tile of keys that makes no difference.",
            "dQ = alpha dS K: alpha multiplies the whole sum over the keys once.",
            **formula("alpha in every step"),
        ),
        "delta of one tile": Mistake(
            "delta is the sum over the keys of one tile: Σ_j P_ij dP_ij needs the whole row. The two agree "
            "only where all keys fit into one tile.",
            "Take delta from O and dO, before the loop: the sum over D is complete at once.",
            **formula("delta of one tile"),
        ),
        "delta not divided by l": Mistake(
            "delta is l times too large, as if it were summed from exponentials that were not divided by l.",
            "delta_i is Σ_j P_ij dP_ij with P = exp(S − LSE), or Σ_d dO_id O_id.",
            **formula("delta times l"),
        ),
        "dQ from V": Mistake(
            "dQ comes out as alpha dS V. S = alpha Q Kᵀ, so the derivative by Q brings K: dQ = alpha dS K.",
            "dQ_i is alpha Σ_j dS_ij K_j.",
            **formula("dS meets V"),
        ),
        "dS transposed": Mistake(
            "dQ is the sum of dSᵀ K, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over queries where it must run over keys.",
            "dQ sums over keys: which axis of your tile of dS counts those?",
            **formula("dS transposed"),
        ),
        "the last, incomplete block of keys is left out": Mistake(
            "The last block of keys, which is not full, is missing from each row, as if there were only "
            "S_k // BLOCK_K blocks.",
            "Where does key S_k − 1, the last one, enter the sum?",
            **formula("whole blocks only"),
        ),
        "padded keys get a probability": Mistake(
            "Where all scores are far below 0, dQ is NaN, as it is if padded keys take part, whose P = "
            "exp(0 − LSE) is infinite, and ∞ · 0 is NaN; or if P is exp(S) / exp(LSE), which is 0/0.",
            "Where LSE is far below 0, which entries of P are not finite?",
            **formula("padded keys"),
        ),
        "dQ accumulated in half precision": Mistake(
            "dQ is rounded to half precision with every tile; the errors add up over the row.",
            "Keep the sum, and what is added to it, in tl.float32; convert once, at the store.",
            **formula("accumulator in half"),
        ),
        "loop over S_q": Mistake(
            "The loop over keys ends at S_q, the number of queries: where the keys fill more tiles than the "
            "queries, the last of them are missing.",
            "This program scans keys. How many are there?",
            **formula("ends at S_q"),
        ),
        "V's pointer is not advanced": Mistake(
            "Every step computes dP from the first tile of V, while K advances.",
            "In each step V is read at the same keys as K.",
            **formula("V stays"),
        ),
        "K's pointer is not advanced": Mistake(
            "Every step uses the first tile of K, while V advances.",
            "In each step K is read at the same keys as V.",
            **formula("K stays"),
        ),
        **common(formula, keys=False),
    }
