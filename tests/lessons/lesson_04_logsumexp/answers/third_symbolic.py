"""Symbolic answers of lesson 04, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "lse_identity",
    "lse = log(l) − m has the wrong sign: l is the sum of e^(s_j − m), so m is added back, m + log(l). "
    "Right only for m = 0.",
    "maximum subtracted",
    title="maximum subtracted a second time",
)(
    written("""
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(l) - m
    p = s.applyfunc(lambda s_j: sp.exp(s_j - lse))
    return lse, p
""")
)

wrong(
    "lse_identity",
    "p divides e^(s_j) by lse, the logarithm of the denominator. Either divide by exp(lse) or subtract in "
    "the exponent: exp(s_j − lse).",
    "divided by the LSE",
    title="divided by the logarithm",
)(
    written("""
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = m + sp.log(l)
    return lse, sp.Matrix([sp.exp(x) / lse for x in s])
""")
)

wrong(
    "merge_partials",
    "The factors are exp(m − m_a) and exp(m − m_b): it must be exp(m_a − m), at most 1, which converts the"
    " part's unit to the common one. Wrong whenever m_a ≠ m_b.",
    "exponents with the other sign",
    title="factors the wrong way round",
)(
    written("""
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    scale_a = sp.exp(m - m_a)
    scale_b = sp.exp(m - m_b)
    l = scale_a * l_a + scale_b * l_b
    acc = scale_a * acc_a + scale_b * acc_b
    return m, l, acc
""")
)

wrong(
    "merge_partials",
    "acc is divided by l at the end of the merge. A partial result keeps acc in units of e^m, and the "
    "division waits for the very end; a second merge of this result is wrong too.",
    "O in place of acc",
    title="acc already divided by l",
)(
    written("""
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    w_a = sp.exp(m_a - m)
    w_b = sp.exp(m_b - m)
    l = l_a * w_a + l_b * w_b
    acc = (acc_a * w_a + acc_b * w_b) / l
    return m, l, acc
""")
)

wrong(
    "merge_partials",
    "Two mistakes: `if m_a > m_b` cannot be decided for symbols (TypeError); it takes sp.Max. And acc is "
    "added without the two factors, right only for m_a = m_b.",
    "crashed",
    "acc not rescaled",
    title="larger maximum chosen by if, acc left unscaled",
)(
    written("""
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    if m_a > m_b:
        m = m_a
    else:
        m = m_b
    l = sp.exp(m_a - m) * l_a + sp.exp(m_b - m) * l_b
    acc = acc_a + acc_b
    return m, l, acc
""")
)
