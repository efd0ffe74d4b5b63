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
            "Multiply the finished dq by alpha, once, before the store.",
            **formula("alpha not on dQ"),
        ),
        "alpha applied twice": Mistake(
            "dQ carries alpha twice: once in dS and once at the end, perhaps.",
            "alpha belongs in s (to rebuild P) and once in dq; dS has none.",
            **formula("alpha twice on dQ"),
        ),
        "alpha in every step": Mistake(
            "dq is multiplied by alpha in every step of the loop: the first tile's share carries alpha as "
            "often as there are tiles. With a single tile of keys it is right.",
            "dq *= alpha belongs after the loop, once.",
            **formula("alpha in every step"),
        ),
        "delta of one tile": Mistake(
            "delta was summed over the keys of one tile: Σ_j P_ij dP_ij needs the whole row, so the result "
            "is right only where all keys fit into one tile.",
            "Take delta from O and dO, before the loop: the sum over D is complete at once.",
            **formula("delta of one tile"),
        ),
        "delta not divided by l": Mistake(
            "delta was summed from exponentials that were not divided by l: it is l times too large.",
            "Σ_j P_ij dP_ij wants P, not exp(S − m): divide by l, or take delta from O and dO.",
            **formula("delta times l"),
        ),
        "dQ from V": Mistake(
            "The last product is dS V. S = alpha Q Kᵀ, so the derivative by Q brings K: dQ = alpha dS K.",
            "Compare the operands of your last tl.dot with S = alpha Q Kᵀ.",
            **formula("dS meets V"),
        ),
        "dS transposed": Mistake(
            "Each tile of dS was transposed before it met K. The shapes fit because the tile is square; the "
            "sum runs over the wrong index.",
            "Rows of dS are queries and columns keys: dQ sums over keys, dS K, with nothing transposed.",
            **formula("dS transposed"),
        ),
        "the last, incomplete block of keys is left out": Mistake(
            "The loop covers only whole blocks of keys: S_k // BLOCK_K of them. The rest of each row is "
            "missing.",
            "range(0, S_k, BLOCK_K) takes the last block too; the mask handles the rest.",
            **formula("whole blocks only"),
        ),
        "padded keys get a probability": Mistake(
            "A padded key has k = 0, so s = 0 and P = exp(0 − LSE), which is infinite where LSE is below "
            "−88. ∞ · 0 is NaN, and it ends up in dQ.",
            'Set s to −inf where the key does not exist: tl.where(in_keys[None, :], s, -float("inf")).',
            **formula("padded keys"),
        ),
        "dQ accumulated in half precision": Mistake(
            "dq is rounded to half precision after every tile; the errors add up over the row.",
            "dq = tl.zeros(…, tl.float32); convert once, at the store.",
            **formula("accumulator in half"),
        ),
        "loop over S_q": Mistake(
            "The loop over keys ends at S_q, the number of queries: where there are more keys than queries, "
            "some are missing.",
            "This program scans keys: range(0, S_k, BLOCK_K).",
            **formula("ends at S_q"),
        ),
        "V's pointer is not advanced": Mistake(
            "Every step takes dP from the first tile of V, while K moves on.",
            "The addresses of V contain the step: start + keys, as those of K do.",
            **formula("V stays"),
        ),
        "K's pointer is not advanced": Mistake(
            "Every step takes the first tile of K, while V moves on.",
            "The addresses of K contain the step: start + keys, as those of V do.",
            **formula("K stays"),
        ),
        **common(formula, keys=False),
    }
