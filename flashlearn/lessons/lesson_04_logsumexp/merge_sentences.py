"""What the mistakes of both merges, in sympy and in torch, say: a sentence and a next step by mistake."""

from __future__ import annotations

SENTENCES = {
    "nothing rescaled": (
        "l and acc are added as they are, or with factors of 1. They are counted in different units: l_a "
        "in units of exp(m_a), l_b in units of exp(m_b).",
        "Bring both to the unit exp(m) first: by which factor does l_a change?",
    ),
    "acc not rescaled": (
        "l is rescaled and acc is not: acc is a sum of the same exponentials, each times a value.",
        "acc takes the same two factors as l.",
    ),
    "l not rescaled": (
        "acc is rescaled and l is not: their quotient is then not a mean of values.",
        "l takes the same two factors as acc.",
    ),
    "one part left out": (
        "l and acc hold one part's share alone: the other part is missing.",
        "The sums go over the scores of both parts. How many terms has each?",
    ),
    "weights exchanged": (
        "Each part is multiplied by the other part's factor.",
        "l_a was summed with m_a subtracted: its factor has m_a in it.",
    ),
    "exponents with the other sign": (
        "The factors are exp(m − m_a) and exp(m − m_b): the exponents have the wrong sign.",
        "exp(s − m_a) · exp(m_a − m) = exp(s − m): m_a has to cancel, and a factor is at most 1.",
    ),
    "weights without exp": (
        "The factors are m_a − m and m_b − m themselves, without the exponential.",
        "exp(s − m_a) · exp(m_a − m) = exp(s − m): the factor is an exponential.",
    ),
}
