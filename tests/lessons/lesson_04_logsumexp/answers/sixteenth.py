"""Answers to lesson 04, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "lse_identity",
    "the line `p = …` divides exp(s_j) by lse, which is the logarithm of the sum and not the sum",
    "divided by the LSE",
)(
    written(
        '''
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    """(lse, p): the logarithm of Σ exp(s_j) from m and l = Σ exp(s_j − m), and softmax(s) from s and lse."""
    lse = sp.log(l) + m
    p = s.applyfunc(sp.exp) / lse
    return lse, p
''',
        title="divide by the log",
    )
)

wrong(
    "merge_partials",
    "the line `acc = …` merges as if acc_a and acc_b were already divided by their l (weights "
    "l_a, l_b, division by l), but acc is the undivided sum",
    "acc taken for O",
)(
    written(
        '''
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """(m, l, acc) of two disjoint sets of columns together; acc is a row [1, D]."""
    m = sp.Max(m_a, m_b)
    share_a = l_a * sp.exp(m_a - m)
    share_b = l_b * sp.exp(m_b - m)
    l = share_a + share_b
    acc = (share_a * acc_a + share_b * acc_b) / l
    return m, l, acc
''',
        title="averages outputs",
    )
)

wrong(
    "online_logsumexp",
    "the line `top = …` takes the maximum of this block alone instead of the running maximum of "
    "m_i and the block, so along a falling row exp(m_i − top) overflows",
    "not finite",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j.to(tl.int64) * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        top = tl.max(x, axis=0)
        unit = tl.where(top == -float("inf"), 0.0, top)  # -inf - (-inf) would be nan
        l_i = l_i * tl.exp(m_i - unit) + tl.sum(tl.exp(x - unit), axis=0)
        m_i = unit
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
''',
        title="block maximum",
    )
)

wrong(
    "recompute_probabilities",
    "two: the load of lse ignores lse_row (`lse_ptr + i`), and the line `x = …` rounds lse to the"
    " dtype of s and subtracts in half precision",
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
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_ok = rows < M
    ok = row_ok[:, None] & (cols < N)[None, :]
    s = tl.load(s_ptr + rows[:, None] * s_row + cols[None, :] * s_col, mask=ok, other=-float("inf"))
    lse = tl.load(lse_ptr + rows, mask=row_ok, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)  # an empty row: exp(-inf - 0) = 0
    x = s - lse.to(s.dtype)[:, None]
    p = tl.exp(x.to(tl.float32))
    tl.store(p_ptr + rows[:, None] * p_row + cols[None, :] * p_col, p, mask=ok)


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
        title="lse stride and half",
    )
)

right("merge_partials_torch", "nan to num, once more, once more, once more")(
    written(
        '''
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of two parts: m, l [..., R] and acc [..., R, D]; (−inf, 0, 0) is an empty row."""
    ms = torch.stack((m_a, m_b))
    m = ms.amax(dim=0)
    w = torch.nan_to_num((ms - m).exp(), nan=0.0)
    l = (w * torch.stack((l_a, l_b))).sum(dim=0)
    acc = (w[..., None] * torch.stack((acc_a, acc_b))).sum(dim=0)
    return m, l, acc
'''
    )
)
