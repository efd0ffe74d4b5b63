"""What people get wrong about the causal mask of the backward pass, for dQ as for dK and dV."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.attention_mistakes.gradients import for_dkv, for_dq
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula


def causal_only(formula: FaultyFormula, keys: bool) -> dict[str, Mistake]:
    """The mistakes of the mask in a kernel that owns queries, or with `keys` in one that owns keys."""
    either = for_dkv if keys else for_dq
    return {
        "S_k − S_q with the wrong sign": Mistake(
            "The diagonal is shifted the wrong way: query i sees the keys j ≤ i + S_q − S_k, where S_k − "
            "S_q belongs. Only for S_q = S_k does it make no difference.",
            "The last query sees the last key: for i = S_q − 1 the mask must let j = S_k − 1 through.",
            **formula(
                "offset negated",
                also=(
                    ("offset negated", "no guard"),
                    ("offset negated", "guarded by 0"),
                    ("offset negated", "bound negated"),
                    ("offset negated", "bound negated", "no guard"),
                    ("offset negated", "bound negated", "guarded by 0"),
                ),
            ),
        ),
        "hidden scores set to 0": Mistake(
            "Hidden scores count as 0 and take part like any other: exp(0 − LSE) is a weight.",
            "What must not be seen gets the score −inf, before the exponential.",
            **formula("hidden scores are 0", also=(("hidden scores are 0", "no guard"),)),
        ),
        "hidden pairs weigh 1": Mistake(
            "P is 1 for hidden pairs, as if exp(0) were taken there.",
            "P must be 0 for a hidden pair: which exponent makes it so?",
            **formula("hidden pairs weigh 1", also=(("hidden pairs weigh 1", "no guard"),)),
        ),
        "mask forgotten": Mistake(
            f"Hidden {either('keys', 'pairs')} take part: exp(S − LSE) of a key that the forward pass "
            "masked is not a probability, and may even exceed 1.",
            "P is 0 for key j of query i where j > i + S_k − S_q.",
            **formula("no causal mask", also=(("no causal mask", "no guard"),)),
        ),
        "mask hides the diagonal": Mistake(
            "The mask is off by one: each query misses the last key that it may see.",
            "Query i sees key j if j ≤ i + S_k − S_q: equality is included.",
            **formula("diagonal hidden"),
        ),
        "mask shows one key too many": Mistake(
            "The mask is off by one: each query sees one key beyond its last.",
            "Query i sees the keys j ≤ i + S_k − S_q, and no other.",
            **formula(
                "one key too many",
                also=(
                    ("one key too many", "no guard"),
                    ("one key too many", "guarded by 0"),
                ),
            ),
        ),
        "mask aligned top-left": Mistake(
            "The mask is aligned top-left: query i sees the keys j ≤ i. In this course the last query sees "
            "the last key (bottom-right): j ≤ i + S_k − S_q. The two masks agree only for S_q = S_k.",
            "Query i sees the keys j ≤ i + S_k − S_q.",
            **formula(
                "top-left",
                also=(
                    "top-left mask",
                    ("top-left", "no guard"),
                    ("top-left mask", "no guard"),
                    ("top-left mask", "guarded by 0"),
                    ("top-left", "guarded by 0"),
                ),
            ),
        ),
        "no guard for queries that see nothing": Mistake(
            either(
                "NaN appears in rows of dQ that must be 0: their queries see no key and have LSE = −inf, and "
                "unless that is replaced, s − LSE is −inf + inf.",
                "NaN appears in dK and dV, as it does if a query that sees no key has LSE = −inf and s − LSE "
                "is −inf + inf: the sum over queries carries it to all keys of the block.",
            ),
            "With +inf in place of that LSE, exp(s − inf) is 0 for every s.",
            **formula("no guard"),
        ),
    }
