"""Answers to lesson 04, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "lse_identity",
    "p is divided by l once more, though lse already contains log(l)",
    "normalised twice",
)(
    written(
        '''
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    """(lse, p): the logarithm of Σ exp(s_j) from m and l = Σ exp(s_j − m), and softmax(s) from s and lse."""
    lse = sp.log(l) + m
    e = s.applyfunc(lambda x: sp.exp(x - lse))
    return lse, e / l
''',
        title="normalised twice",
    )
)

wrong(
    "merge_partials",
    "acc is merged by the formula for finished outputs, (w_a l_a acc_a + w_b l_b acc_b) / l, "
    "though acc is a sum that has not been divided yet",
    "acc taken for O",
)(
    written(
        '''
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """(m, l, acc) of two disjoint sets of columns together; acc is a row [1, D]."""
    m = sp.Max(m_a, m_b)
    la = l_a * sp.exp(m_a - m)
    lb = l_b * sp.exp(m_b - m)
    l = la + lb
    acc = (la / l) * acc_a + (lb / l) * acc_b
    return m, l, acc
''',
        title="weights of finished outputs",
    )
)

wrong(
    "merge_partials_torch",
    "the guarded maximum is returned as m (m is overwritten by the masked_fill line), so a row "
    "that is empty in both parts gets m = 0 instead of -inf",
    "the guard's 0 is returned",
)(
    written(
        '''
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of two parts: m, l [..., R] and acc [..., R, D]; (−inf, 0, 0) is an empty row."""
    m = torch.maximum(m_a, m_b)
    m = m.masked_fill(torch.isinf(m), 0.0)  # no NaN
    fa = torch.exp(m_a - m)
    fb = torch.exp(m_b - m)
    l = fa * l_a + fb * l_b
    acc = fa[..., None] * acc_a + fb[..., None] * acc_b
    return m, l, acc
''',
        title="guarded maximum returned",
    )
)

wrong(
    "online_logsumexp",
    "the brackets in the l_i line: the factor exp(m_i - ref) multiplies the new block's sum as "
    "well as the old one, so the first block vanishes",
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
        cols = first + tl.arange(0, BLOCK)
        vals = tl.load(x_ptr + i * x_row + cols * x_col, mask=cols < N, other=-float("inf")).to(tl.float32)
        top = tl.maximum(tl.max(vals, axis=0), m_i)
        ref = tl.where(top == -float("inf"), 0.0, top)
        block_sum = tl.sum(tl.exp(vals - ref), axis=0)
        l_i = (l_i + block_sum) * tl.exp(m_i - ref)
        m_i = top
    tl.store(lse_ptr + i, tl.log(l_i) + m_i)


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
''',
        title="factor on the new sum too",
    )
)

wrong(
    "online_logsumexp",
    "`m_i = m_new` stores the guarded maximum: after a first block of -inf m_i is 0, no maximum "
    "of negative scores ever replaces it, and low scores underflow to -inf",
    "log of zero",
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
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        m_new = tl.where(m_new == -float("inf"), 0.0, m_new)
        scale = tl.exp(m_i - m_new)
        l_i = scale * l_i + tl.sum(tl.exp(x - m_new), axis=0)
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
        title="carries the guard",
    )
)

wrong(
    "recompute_probabilities",
    "p is computed as exp(s) / exp(lse) instead of exp(s - lse): it overflows for large scores, "
    "and an empty row or very low scores give 0 / 0",
    "exponentials apart",
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
    rows_ok = i < M
    cols_ok = j < N
    ok = rows_ok[:, None] & cols_ok[None, :]
    scores = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=ok, other=0.0).to(tl.float32)
    log_z = tl.load(lse_ptr + i * lse_row, mask=rows_ok, other=0.0)
    z = tl.exp(log_z)
    prob = tl.exp(scores) / z[:, None]
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, prob, mask=ok)


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
        title="quotient of exponentials",
    )
)

right("merge_partials_torch", "nan to num, once more, once more")(
    written(
        '''
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of two parts: m, l [..., R] and acc [..., R, D]; (−inf, 0, 0) is an empty row."""
    m = torch.stack((m_a, m_b)).amax(dim=0)
    w = torch.stack((m_a - m, m_b - m)).exp().nan_to_num(nan=0.0)
    l = (w * torch.stack((l_a, l_b))).sum(dim=0)
    acc = (w[..., None] * torch.stack((acc_a, acc_b))).sum(dim=0)
    return m, l, acc
'''
    )
)
