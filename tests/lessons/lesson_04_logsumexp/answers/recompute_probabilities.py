"""Lesson 04: answers to `recompute_probabilities`."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

BANDS = """
@triton.jit
def p_band(s_ptr, lse_ptr, p_ptr, M, N, s0, s1, l0, BR: tl.constexpr, BC: tl.constexpr):
    # one program per band of rows, column by column block
    i = tl.program_id(0) * BR + tl.arange(0, BR)
    lse = tl.load(lse_ptr + i * l0, mask=i < M, other=float("inf"))
    lse = tl.where(lse == float("-inf"), float("inf"), lse)  # exp(s - inf) is 0
    for c in range(0, N, BC):
        j = c + tl.arange(0, BC)
        ok = (i < M)[:, None] & (j < N)[None, :]
        s = tl.load(s_ptr + i[:, None] * s0 + j[None, :] * s1, mask=ok, other=0.0).to(tl.float32)
        tl.store(p_ptr + i[:, None] * N + j[None, :], tl.exp(s - lse[:, None]), mask=ok)


def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype)
    p_band[(triton.cdiv(M, 8),)](s, lse, p, M, N, *s.stride(), lse.stride(0), BR=8, BC=16)
    return p
"""

FLAT = """
@triton.jit
def p_flat(s_ptr, lse_ptr, p_ptr, total, N, s0, s1, BLOCK: tl.constexpr):
    # element e of P lies in row e // N; lse was made contiguous
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = e < total
    row, col = e // N, e % N
    s = tl.load(s_ptr + row * s0 + col * s1, mask=inside, other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + row, mask=inside, other=0.0)
    exponent = (s - lse) * 1.4426950408889634
    p = tl.where(lse == -float("inf"), 0.0, tl.exp2(exponent))
    tl.store(p_ptr + e, p, mask=inside)


def recompute_probabilities(s, lse):
    lse = lse.contiguous()
    p = torch.zeros(s.shape, dtype=s.dtype)
    n = p.numel()
    p_flat[(triton.cdiv(n, 128),)](s, lse, p, n, s.shape[1], *s.stride(), BLOCK=128)
    return p
"""

right("recompute_probabilities", "one program per band of rows, +inf in place of −inf")(written(BANDS))
right("recompute_probabilities", "a flat grid over all elements, powers of two")(written(FLAT))

wrong(
    "recompute_probabilities",
    "exp2 without log2 e.",
    "powers of two",
    title="flat, exp2 of natural exponents",
)(edited(FLAT, ("(s - lse) * 1.4426950408889634", "s - lse")))

wrong(
    "recompute_probabilities",
    "lse is missing from the exponent.",
    "lse not subtracted",
    title="flat, lse only guards",
)(edited(FLAT, ("(s - lse) * 1.4426950408889634", "s * 1.4426950408889634")))

wrong(
    "recompute_probabilities",
    "A row of nothing but −inf is NaN: −inf − (−inf).",
    "−inf minus −inf",
    "inf minus inf",
    title="flat, no guard",
)(edited(FLAT, ('tl.where(lse == -float("inf"), 0.0, tl.exp2(exponent))', "tl.exp2(exponent)")))

wrong(
    "recompute_probabilities",
    "The row is taken by e // 128, the block's length, in place of N.",
    "out_of_bounds",
    title="flat, row = e // BLOCK",
)(edited(FLAT, ("row, col = e // N, e % N", "row, col = e // BLOCK, e % BLOCK")))

wrong(
    "recompute_probabilities",
    "The stride of lse is ignored.",
    "stride of lse ignored",
    "out_of_bounds",
    title="flat, lse not contiguous",
)(edited(FLAT, ("    lse = lse.contiguous()\n", "")))

wrong(
    "recompute_probabilities",
    "lse is rounded to half precision before it is subtracted.",
    "lse in half precision",
    "precision",
    title="bands, lse in the dtype of s",
)(
    edited(
        BANDS,
        ("    M, N = s.shape\n", "    M, N = s.shape\n    lse = lse.to(s.dtype)\n"),
    )
)

wrong(
    "recompute_probabilities",
    "The rows are not masked: the last band reaches beyond s and p.",
    "rows not masked",
    "out_of_bounds",
    title="bands, columns masked only",
)(edited(BANDS, ("ok = (i < M)[:, None] & (j < N)[None, :]", "ok = (i >= 0)[:, None] & (j < N)[None, :]")))

wrong(
    "recompute_probabilities",
    "The last columns are never written: the loop stops before the incomplete block.",
    "never written",
    "last tile missing",
    title="bands, the loop too short",
)(edited(BANDS, ("range(0, N, BC)", "range(0, N - BC + 1, BC)")))

wrong(
    "recompute_probabilities",
    "The exponential is missing: this is log P.",
    "logarithm of P",
    title="bands, no exp",
)(
    edited(
        BANDS,
        ("tl.exp(s - lse[:, None])", "s - lse[:, None]"),
        (
            '    lse = tl.where(lse == float("-inf"), float("inf"), lse)  # exp(s - inf) is 0\n',
            '    lse = tl.where(lse == float("-inf"), 0.0, lse)\n',
        ),
    )
)

wrong(
    "recompute_probabilities",
    "Powers of two, and lse rounded to half precision: two mistakes.",
    "powers of two + lse in half precision",
    "powers of two + precision",
    "powers of two",
    title="bands, exp2 and lse in half precision",
)(
    edited(
        BANDS,
        ("tl.exp(s - lse[:, None])", "tl.exp2(s - lse[:, None])"),
        ("    M, N = s.shape\n", "    M, N = s.shape\n    lse = lse.to(s.dtype)\n"),
    )
)
