"""Lesson 04: answers to `lse_identity`, `merge_partials` and `merge_partials_torch`."""
# ruff: noqa: E741  (l is the sum's name in the exercises)

from __future__ import annotations

import sympy as sp

from tests.corpus import edited, right, written, wrong

# lse_identity --------------------------------------------------------------------------------------


@right("lse_identity", "one logarithm of a product, and a quotient of exponentials")
def lse_of_a_product(s, m, l):
    lse = sp.log(sp.exp(m) * l)
    return lse, [sp.exp(s_j - m) / l for s_j in s]


@wrong("lse_identity", "l is the sum itself; its logarithm belongs there.", "logarithm of l forgotten")
def lse_adds_l(s, m, l):
    lse = m + l
    return lse, sp.Matrix([sp.exp(x - lse) for x in s])


@wrong("lse_identity", "p is divided by l twice: lse holds it already.", "normalised twice")
def lse_and_divided_again(s, m, l):
    lse = m + sp.log(l)
    p = s.applyfunc(lambda x: sp.exp(x) / sp.exp(lse) / l)
    return lse, p


@wrong("lse_identity", "log2 of l was added to a natural maximum.", "base-2 logarithm")
def lse_in_two_bases(s, m, l):
    lse = m + sp.log(l, 2)
    return lse, s.applyfunc(lambda x: sp.exp(x - lse))


@wrong(
    "lse_identity",
    "The lse is right; p is exp(s) / l, without the maximum's share.",
    "p without the maximum",
    "factor",
)
def p_without_the_maximum(s, m, l):
    return m + sp.log(l), s.applyfunc(lambda x: sp.exp(x) / l)


# merge_partials ------------------------------------------------------------------------------------


@right("merge_partials", "by cases, with sp.Piecewise")
def merged_by_cases(m_a, l_a, acc_a, m_b, l_b, acc_b):
    first = m_a >= m_b
    m = sp.Piecewise((m_a, first), (m_b, True))
    w_a = sp.Piecewise((1, first), (sp.exp(m_a - m_b), True))
    w_b = sp.Piecewise((sp.exp(m_b - m_a), first), (1, True))
    return m, l_a * w_a + l_b * w_b, acc_a * w_a + acc_b * w_b


@wrong("merge_partials", "Only the sums are rescaled; acc needs the same factors.", "acc not rescaled")
def merged_sums_only(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    l = l_a * sp.exp(m_a - m) + l_b * sp.exp(m_b - m)
    return m, l, acc_a + acc_b


@wrong("merge_partials", "The exponents have the other sign.", "exponents with the other sign")
def merged_with_growing_weights(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    up_a, up_b = sp.exp(m) / sp.exp(m_a), sp.exp(m) / sp.exp(m_b)
    return m, l_a * up_a + l_b * up_b, acc_a * up_a + acc_b * up_b


@wrong("merge_partials", "acc was divided by l: O, not acc.", "O in place of acc")
def merged_and_divided(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    a, b = sp.exp(m_a - m), sp.exp(m_b - m)
    l = a * l_a + b * l_b
    return m, l, ((a * acc_a + b * acc_b) / l).applyfunc(sp.simplify)


@wrong("merge_partials", "Part b is assumed to hold the larger maximum.", "one part's maximum for both")
def merged_into_b(m_a, l_a, acc_a, m_b, l_b, acc_b):
    w = sp.exp(m_a - m_b)
    return m_b, w * l_a + l_b, w * acc_a + acc_b


# merge_partials_torch ------------------------------------------------------------------------------

GUARDED = """
def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.where(m_a > m_b, m_a, m_b)
    scale_a = torch.nan_to_num(torch.exp(m_a - m), nan=0.0)
    scale_b = torch.nan_to_num(torch.exp(m_b - m), nan=0.0)
    l = scale_a * l_a + scale_b * l_b
    acc = acc_a * scale_a[..., None] + acc_b * scale_b[..., None]
    return m, l, acc
"""

STACKED = """
def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m_both = torch.stack([m_a, m_b])
    top = m_both.max(dim=0).values
    finite = torch.clamp(top, min=-1e30)
    weights = (m_both - finite).exp()
    l = (weights * torch.stack([l_a, l_b])).sum(0)
    acc = (weights.unsqueeze(-1) * torch.stack([acc_a, acc_b])).sum(0)
    return top, l, acc
"""

right("merge_partials_torch", "NaN weights replaced by 0")(written(GUARDED))
right("merge_partials_torch", "both parts stacked, the maximum clamped")(written(STACKED))

wrong(
    "merge_partials_torch",
    "−inf − (−inf) is NaN where both parts are empty.",
    "the empty merge is not guarded",
    "inf minus inf",
    title="stacked, no clamp",
)(edited(STACKED, ("torch.clamp(top, min=-1e30)", "top")))

wrong(
    "merge_partials_torch",
    "The clamped maximum is returned; an empty row has −inf.",
    "the guard's 0 is returned",
    title="stacked, the clamped maximum returned",
)(
    edited(
        STACKED,
        ("return top, l, acc", "return finite, l, acc"),
        ("torch.clamp(top, min=-1e30)", "torch.where(torch.isinf(top), torch.zeros(()), top)"),
    )
)

wrong(
    "merge_partials_torch",
    "acc is not rescaled.",
    "acc not rescaled",
    title="guarded, acc_a + acc_b",
)(edited(GUARDED, ("acc_a * scale_a[..., None] + acc_b * scale_b[..., None]", "acc_a + acc_b")))

wrong(
    "merge_partials_torch",
    "Each part has the other's weight.",
    "weights exchanged",
    title="guarded, scales exchanged",
)(
    edited(
        GUARDED,
        ("scale_a = torch.nan_to_num(torch.exp(m_a - m)", "scale_a = torch.nan_to_num(torch.exp(m_b - m)"),
        ("scale_b = torch.nan_to_num(torch.exp(m_b - m)", "scale_b = torch.nan_to_num(torch.exp(m_a - m)"),
    )
)

wrong(
    "merge_partials_torch",
    "acc needs a last dimension for the weight: it broadcasts along the rows instead.",
    "crashed",
    title="guarded, scales without [..., None]",
)(edited(GUARDED, ("scale_a[..., None]", "scale_a"), ("scale_b[..., None]", "scale_b")))

wrong(
    "merge_partials_torch",
    "Only acc is rescaled.",
    "l not rescaled",
    title="guarded, l_a + l_b",
)(edited(GUARDED, ("l = scale_a * l_a + scale_b * l_b", "l = l_a + l_b")))

wrong(
    "merge_partials_torch",
    "acc is divided by l, and empty rows divide by zero.",
    "O in place of acc",
    "zero over zero",
    "O in place of acc + zero over zero",
    "one edit",
    title="guarded, acc / l",
)(edited(GUARDED, ("return m, l, acc", "return m, l, acc / l[..., None]")))
