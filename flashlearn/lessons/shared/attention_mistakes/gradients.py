"""What people get wrong about P and dS, for dQ as for dK and dV; what differs in what is said is `either`."""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula
from flashlearn.outcome import Status

ALPHA_SIGNS = ("alpha without its sign in s", "alpha without its sign at the end")


def common(formula: FaultyFormula, keys: bool) -> dict[str, Mistake]:
    """The mistakes of a kernel that owns queries, or with `keys` of one that owns keys."""
    either = for_dkv if keys else for_dq
    dp, ds = either("dP", "dK's dP"), either("dS", "dK's dS")
    along = (
        "{0} lies along the keys: entry n of {0} was subtracted from the numbers of key n, but it belongs "
        "to query n. "
        "The shapes fit because the tile is square"
    )
    which = "which axis of your tile counts those?"
    return {
        "alpha is missing from S": Mistake(
            "P is not the forward pass's: the scores were rebuilt as Q Kᵀ, without alpha."
            + either("", " P enters both dK and dV."),
            "The scores must be what the forward pass had, alpha · q · k, or exp(S − LSE) is not a "
            "probability.",
            **formula("alpha not in s"),
        ),
        "alpha's sign is lost": Mistake(
            "With a negative alpha the sign is wrong, as if |alpha|, or 1/√D, were used where alpha belongs, "
            "in S, in " + either("dQ", "dK") + ", or in both.",
            "alpha is an argument and may be any number: use it as it is.",
            **formula(*ALPHA_SIGNS, also=(*ALPHA_SIGNS,)),
        ),
        "only the last tile remains": Mistake(
            either("dQ holds", "dK and dV hold")
            + " the last tile's share alone, as if each step overwrote what the steps before it found.",
            "Where do the shares of the earlier tiles get lost?",
            **formula("last tile alone"),
        ),
        "delta omitted": Mistake(
            either(
                "delta is missing: dS comes out as P ∘ dP.",
                "delta is missing from dK: dS comes out as P ∘ dP. dV does not need delta.",
            ),
            "dS_ij = P_ij (dP_ij − delta_i), with delta_i = Σ_d dO_id O_id.",
            **formula("delta omitted"),
        ),
        "delta subtracted after P": Mistake(
            f"{ds} comes out as P ∘ dP − delta: P multiplies dP alone, and delta is subtracted at full "
            "weight from every key.",
            "P multiplies the difference of dP and delta.",
            **formula("delta after P"),
        ),
        "delta along the keys": Mistake(
            f"{along.format('delta')}{either('', '; dV needs no delta')}.",
            f"delta belongs to the queries: {which}",
            **formula("delta along the keys"),
        ),
        "LSE along the keys": Mistake(
            f"{along.format('LSE')}.",
            f"LSE belongs to the queries: {which}",
            **formula("LSE along the keys"),
        ),
        "delta added": Mistake(
            "delta is added where it must be subtracted: dS comes out as P ∘ (dP + delta)."
            + either("", " dV needs no delta."),
            "Each row of dS must sum to 0, over all keys.",
            **formula("delta added"),
        ),
        "delta from dP without P": Mistake(
            either("You subtracted", "dK subtracts")
            + " the plain sum of each row of dP. delta is the sum of P ∘ dP, the mean of dP under P.",
            "delta_i is Σ_j P_ij dP_ij, or Σ_d dO_id O_id.",
            **formula("delta is the sum of dP"),
        ),
        "P in front forgotten": Mistake(
            f"{ds} comes out as dP − delta, without the factor P.",
            "dS_ij = P_ij (dP_ij − delta_i): a key that gets no weight gets no gradient.",
            **formula("P forgotten in dS"),
        ),
        "LSE read as base 2": Mistake(
            "P comes out as 2^(S log2 e − LSE), as if LSE were a logarithm to base 2: it is natural.",
            "S and LSE must have the same unit: natural for exp, times log2 e for exp2.",
            **formula("LSE in base 2"),
        ),
        "dP from K": Mistake(
            f"{dp} was computed as dO Kᵀ. O = P V, so dO is multiplied by V: dP = dO Vᵀ.",
            "dP_ij is Σ_d dO_id V_jd.",
            **formula("dP from K"),
        ),
        "dP rounded before delta is subtracted": Mistake(
            f"{dp} was rounded to half precision before delta was subtracted. Where both are large their "
            "difference keeps few digits.",
            f"Keep dP and delta in fp32, and round dS only for the product with {either('K', 'Q')}.",
            **formula("dP in half"),
        ),
        "LSE forgotten": Mistake(
            "P comes out as exp(s): LSE is not subtracted.",
            "P = exp(S − LSE): the forward pass saved LSE for this.",
            **formula("LSE forgotten"),
        ),
        "softmax of the tile": Mistake(
            "P sums to 1 in every tile, as if its weights were divided by the tile's own sum. A row's sum "
            "is that of all its tiles, and LSE has it already.",
            "P = exp(s − LSE) is final: it needs no maximum and no sum of its own.",
            **formula("softmax of the tile"),
        ),
        "LSE added": Mistake(
            "P comes out as exp(S + LSE): LSE is added where it must be subtracted.",
            "P = exp(S − LSE): exp(LSE) is what the forward pass divided by.",
            **formula("LSE added"),
        ),
        "log2 e is missing": Mistake(
            "P comes out as 2^(s − LSE), where e^(s − LSE) belongs: the factor log2 e is missing, and "
            "every exponent is too small by the factor ln 2.",
            "e^x is 2^(x log2 e).",
            **formula("exp2 of natural numbers"),
        ),
        "alpha twice in S": Mistake(
            "The scores carry alpha twice: q has it already, perhaps, and the product again.",
            "The scores must be what the forward pass had: alpha · q · k.",
            **formula("alpha twice in s"),
        ),
        "dP from O": Mistake(
            f"{dp} was computed as O Vᵀ. dP is the loss's derivative by P, so it starts from dO: dP = dO Vᵀ.",
            "dP_ij is Σ_d dO_id V_jd.",
            **formula("dP from O"),
        ),
        "dP from Q": Mistake(
            f"{dp} was computed as Q Vᵀ. O = P V, so dO is multiplied by V: dP = dO Vᵀ.",
            "dP_ij is Σ_d dO_id V_jd.",
            **formula("dP from Q"),
        ),
        "first tile missing": Mistake(
            f"The first tile of {either('keys', 'queries')} is missing.",
            f"Where do the {either('keys', 'queries')} of the first tile enter the {either('sum', 'sums')}?",
            **formula("first tile skipped"),
        ),
        "log2 e is missing from S": Mistake(
            "P comes out as 2^(S − LSE log2 e): LSE has the factor log2 e, and the scores lack it.",
            "S and LSE must have the same unit: natural for exp, times log2 e = 1.4427 for exp2.",
            **formula("log2 e not in s"),
        ),
        "delta from O alone": Mistake(
            "delta was computed from O alone: dO does not enter.",
            "delta_i is Σ_d dO_id O_id: a product of two tensors, entry by entry, summed along each row.",
            **formula("delta from O alone", also=("delta is the sum of O",)),
        ),
        "delta from dO alone": Mistake(
            "delta was computed as the sum of dO², without O.",
            "delta_i is Σ_d dO_id O_id: a product of two tensors, entry by entry, summed along each row.",
            **formula("delta from dO alone"),
        ),
        "delta of other rows": Mistake(
            "delta is that of the first block of queries, wherever it is used.",
            "The indices of delta move with the tile's queries.",
            **formula("delta of the first rows"),
        ),
        "delta of the first head": Mistake(
            "Every head takes delta of the first one, as if its address did not tell heads apart.",
            "delta has one number per query of each head.",
            **formula("delta of the first head"),
        ),
        "dS cast to fp16": Mistake(
            "dS is rounded to fp16 whatever dtype the inputs have. In fp32 it loses digits there, and in "
            "bf16 what is too small for fp16.",
            "Round dS to the dtype of the inputs, not to fp16.",
            **formula("dS in fp16"),
        ),
    }


def strides_of_q(launcher: Callable) -> dict[str, Mistake]:
    """The mistake that only a kernel can make, of dQ as of dK and dV."""
    return {
        "strides of Q used for K": Mistake(
            "K or V is read with a stride that belongs to a tensor of queries. They differ as soon as S_q "
            "≠ S_k or the layouts do.",
            "K and V have four strides each, of their own: which ones does this address contain?",
            launcher=launcher,
            status=Status.OUT_OF_BOUNDS,
        )
    }


def for_dq(dq: str, dkv: str) -> str:
    """What is said of dQ."""
    return dq


def for_dkv(dq: str, dkv: str) -> str:
    """What is said of dK and dV."""
    return dkv


def lse_of_zero(formula: FaultyFormula) -> dict[str, Mistake]:
    """A wrong test for queries that see nothing; a case whose Q is 0, with a single key, shows it."""
    return {
        "an LSE of 0 taken for none": Mistake(
            "A query whose LSE is 0 is taken for one that sees nothing, and its P is 0. Where no key is "
            "seen, LSE is −∞; it is 0 for a query that sees a single key with the score 0, for example.",
            "A test for such a query compares LSE with −∞.",
            **formula("LSE of 0", also=(("LSE of 0", "no guard"),)),
        ),
    }
