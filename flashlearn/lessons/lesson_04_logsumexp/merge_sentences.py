"""What the mistakes of both merges, in sympy and in torch, say: a sentence and a next step by mistake."""

from __future__ import annotations

SENTENCES = {
    "nothing rescaled": (
        "l and acc are added as they are, or with factors of 1. They are counted in different units: l_a "
        "in units of exp(m_a), l_b in units of exp(m_b).",
        "Bring both to the unit exp(m) first: by which factor does l_a change?",
    ),
    "acc not rescaled": (
        "acc is not rescaled: like l it is a sum of exponentials, each times a value.",
        "acc takes the factors exp(m_a − m) and exp(m_b − m), as l does.",
    ),
    "l not rescaled": (
        "l is not rescaled: like acc it is a sum of exponentials.",
        "l takes the factors exp(m_a − m) and exp(m_b − m), as acc does.",
    ),
    "l and acc of one part not rescaled": (
        "l and acc of one part are added as they are. That fits only where this part has the larger maximum.",
        "Either part may have the smaller maximum: exp(m_a − m) belongs to a, exp(m_b − m) to b.",
    ),
    "l of one part not rescaled": (
        "The l of one part is added as it is, without its factor.",
        "exp(m_a − m) belongs to l_a and acc_a, exp(m_b − m) to l_b and acc_b.",
    ),
    "acc of one part not rescaled": (
        "The acc of one part is added as it is, without its factor.",
        "exp(m_a − m) belongs to l_a and acc_a, exp(m_b − m) to l_b and acc_b.",
    ),
    "in one part's unit": (
        "l and acc are in the unit of one part, to which the other's are brought. m is the larger of the two "
        "maxima: where that is the other part's, the sums do not fit it.",
        "Bring both to the unit exp(m): which factor does each part take?",
    ),
    "one part left out": (
        "l and acc hold one part's share alone: the other part is missing.",
        "The sums go over the scores of both parts.",
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
