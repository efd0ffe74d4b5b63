"""Answers to lesson 04, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "lse_identity",
    "`sp.exp(x) / lse` divides by the logarithm of the sum; p is exp(s − lse).",
    "divided by the LSE",
)(
    written(
        """
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(l) + m
    p = s.applyfunc(lambda x: sp.exp(x) / lse)
    return lse, p
""",
        title="divides by lse",
    )
)

wrong(
    "merge_partials",
    "the factors are `sp.exp(m - m_a)` and `sp.exp(m - m_b)`: the exponent has the wrong sign, "
    "from the new unit to the old.",
    "exponents with the other sign",
)(
    written(
        """
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    fa = sp.exp(m - m_a)
    fb = sp.exp(m - m_b)
    return m, fa * l_a + fb * l_b, fa * acc_a + fb * acc_b
""",
        title="factors inverted",
    )
)

wrong(
    "merge_partials_torch",
    "returns `safe`, in which −inf was replaced by 0, as the maximum of an empty row, so that an "
    "empty row no longer merges as the identity.",
    "the guard's 0 is returned",
)(
    written(
        """
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.maximum(m_a, m_b)
    safe = m.masked_fill(m.isinf(), 0.0)
    a, b = torch.exp(m_a - safe), torch.exp(m_b - safe)
    l = a * l_a + b * l_b
    acc = a[..., None] * acc_a + b[..., None] * acc_b
    return safe, l, acc
""",
        title="returns the guard",
    )
)

wrong(
    "online_logsumexp",
    "the factor multiplies the new sum too: `l_i = (l_i + tl.sum(e)) * factor`, although e is in "
    "the new unit already.",
    "one edit",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · x_row may pass 2³¹
    m_i = tl.full((), -float("inf"), tl.float32)  # of the columns seen so far: their maximum,
    l_i = tl.full((), 0.0, tl.float32)  # and the sum of exp(x − m_i)
    for first in range(0, N, BLOCK):
        j = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        base = tl.where(m_new == float("-inf"), 0.0, m_new)
        factor = tl.exp(m_i - base)
        e = tl.exp(x - base)
        l_i = (l_i + tl.sum(e, axis=0)) * factor
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
''',
        title="rescales the new part",
    )
)

wrong(
    "recompute_probabilities",
    "two: lse is loaded from `lse_ptr + i` without its stride lse_row, and rows whose lse is −inf"
    " give exp(−inf + inf) = NaN.",
    "out_of_bounds",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    # a tile of P from a tile of S and BLOCK_M numbers: no program sees a whole row
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M] rows
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N] columns
    ok_i = i < M
    ok = ok_i[:, None] & (j[None, :] < N)
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=ok, other=float("-inf")).to(tl.float32)
    lse = tl.load(lse_ptr + i, mask=ok_i, other=0.0)
    p = tl.exp(s - lse[:, None])
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=ok)


def recompute_probabilities(s: Tensor, lse: Tensor) -> Tensor:
    """p = exp(s − lse): [M, N] and [M] (fp32), any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
''',
        title="lse stride and guard",
    )
)

right("online_logsumexp", "a sum per lane")(
    written(
        '''
from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · x_row may pass 2³¹
    m_i = tl.full((), -float("inf"), tl.float32)  # of the columns seen so far: their maximum,
    l_i = tl.full((), 0.0, tl.float32)  # and the sum of exp(x − m_i)
    lane = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, N, BLOCK):
        j = first + lane
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, x)
        unit = tl.where(new == float("-inf"), 0.0, new)
        l = l * tl.exp(m - unit) + tl.exp(x - unit)
        m = new
    m_i = tl.max(m, axis=0)
    base = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l * tl.exp(m - base), axis=0)
    tl.store(lse_ptr + i, base + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
'''
    )
)
