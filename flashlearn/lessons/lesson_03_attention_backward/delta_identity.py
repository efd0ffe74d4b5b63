"""`delta_identity`: the same sum in the other order."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula


def identity_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """P, V, dO as arrays of any size, the row i, the component d, and the sizes S_k and D."""
    P, V, dO = (sp.IndexedBase(name, real=True) for name in ("P", "V", "dO"))
    i, d = sp.symbols("i d", integer=True, nonnegative=True)
    S_k, D = sp.symbols("S_k D", integer=True, positive=True)
    sizes = {name: sp.Integer(size) for name, size in case.sizes.items()} or {"S_k": S_k, "D": D}
    return {"P": P, "V": V, "dO": dO, "i": i, "d": d, **sizes}


def identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    """O_id = Σ_j P_ij V_jd, and delta_i = Σ_d dO_id O_id."""
    j, e = sp.symbols("j e", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k - 1))
    o_ie = sp.Sum(P[i, j] * V[j, e], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, e] * o_ie, (e, 0, D - 1))


def faulty_identity(P, V, dO, i, d, S_k, D, faults: Faults = NONE) -> tuple[sp.Expr, sp.Expr]:
    """(O_id, delta_i) with faults by name: in the sums' limits, in an index, or in what is summed."""
    j, e = sp.symbols("j e", integer=True)
    first = 1 if "from one" in faults else 0
    beyond = 1 if "one more" in faults else 0

    def over(index, size):
        return (index, first, size - 1 + first + beyond)

    def gradient(c):
        return dO[c, i] if "dO turned" in faults else dO[i, c]

    def o(c):
        value = V[c, j] if "V turned" in faults else V[j, c]
        weight = P[j, i] if "P turned" in faults else P[i, j]
        weight = 1 if "no P" in faults else weight
        return sp.Sum(weight * value * (gradient(c) if "dO in O" in faults else 1), over(j, S_k))

    def term(c):
        return o(c) if "no dO outside" in faults else gradient(c) * o(c)

    if "taken apart" in faults:
        return o(d), sp.Sum(gradient(e), over(e, D)) * sp.Sum(o(e), over(e, D))
    return o(d), term(d) if "no sum over d" in faults else sp.Sum(term(e), over(e, D))


formula = faulty_formula(faulty_identity)

MISTAKES = {
    "one term too many": Mistake(
        "Your sums have one term too many: a sympy sum includes its upper end.",
        "There are S_k keys, numbered 0 to S_k − 1, so the limits are (j, 0, S_k - 1).",
        **formula("one more"),
    ),
    "counted from one": Mistake(
        "Your sums run from 1 to the size. Here the first key is number 0, and so is the first component.",
        "Write (j, 0, S_k - 1) and (d, 0, D - 1).",
        **formula("from one"),
    ),
    "indices of V exchanged": Mistake(
        "You took V[d, j]. V has one row per key: V[j, d].",
        "Read the shapes: P is [S_q, S_k] and V is [S_k, D], so the summed index j is the one they share.",
        **formula("V turned"),
    ),
    "P forgotten in O": Mistake(
        "Your O_id is the plain sum of the values. Then delta is Σ_j dP_ij, not weighted by P.",
        "O_i is the mean of the values under P_i: each V_jd comes with its P_ij.",
        **formula("no P"),
    ),
    "a sum of products taken apart": Mistake(
        "Your delta is (Σ_d dO_id)(Σ_d O_id): a product of two sums, where a sum of products is needed.",
        "Both factors depend on d, so both belong inside the one sum over d.",
        **formula("taken apart"),
    ),
    "dO inside O": Mistake(
        "Your O_id has dO_id in it: that is dO_id · O_id, the product that delta sums over d.",
        "dO_id does not depend on j: factor it out of the sum over the keys. What is left inside?",
        **formula("dO in O", also=(("dO in O", "no dO outside"),)),
    ),
    "dO forgotten in delta": Mistake(
        "Your delta is Σ_d O_id: the factor dO_id is missing.",
        "delta_i = Σ_j P_ij dP_ij, and dP_ij = Σ_d dO_id V_jd: where does dO_id go when the sums change "
        "places?",
        **formula("no dO outside"),
    ),
    "no sum over d": Mistake(
        "Your delta_i depends on d: it is one term, dO_id · O_id, of the sum over the components.",
        "A query has one delta. Which index has to be summed away?",
        **formula("no sum over d"),
    ),
    "indices of P exchanged": Mistake(
        "You took P[j, i]. P has one row per query: P[i, j].",
        "O_i is query i's mean of the values: its weights are row i of P.",
        **formula("P turned"),
    ),
    "indices of dO exchanged": Mistake(
        "You took dO[d, i]. dO has one row per query: dO[i, d].",
        "dO has the shape of O, [S_q, D]: which index counts queries?",
        **formula("dO turned"),
    ),
}


def sized(S_k: int, D: int) -> Case:
    """Sums of S_k and of D terms."""
    keys = "1 key" if S_k == 1 else f"{S_k} keys"
    return build_case(f"{keys}, D = {D}", {"S_k": S_k, "D": D})


delta_identity = Exercise(
    name="delta_identity",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="Delta as the same sum in the other order",
    signature="(P, V, dO, i, d, S_k, D) -> (o_id, delta_i)",
    outputs=("o_id", "delta_i"),
    inputs=identity_inputs,
    cases=(
        Case("any number of keys, any D"),
        sized(3, 2),
        sized(4, 3),
        sized(1, 1),
    ),
    judged=HowJudged(
        reference=identity,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
