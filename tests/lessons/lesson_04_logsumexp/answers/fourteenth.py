"""Answers to lesson 04, written without a look at what the grader knows: the fourteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "lse_identity",
    "line `lse`: log(exp(m) + l), the logarithm of a sum of exp(m) and l, instead of m + log l",
    "one edit",
)(
    written(
        """
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(sp.exp(m) + l)
    p = sp.Matrix([sp.exp(e - lse) for e in s])
    return lse, p
""",
        title="log m plus l",
    )
)

wrong(
    "merge_partials",
    "last line: acc is divided by the merged l although the parts are kept undivided",
    "O in place of acc",
)(
    written(
        """
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    top = sp.Max(m_a, m_b)
    a, b = sp.exp(m_a - top), sp.exp(m_b - top)
    l = a * l_a + b * l_b
    return top, l, (a * acc_a + b * acc_b) / l
""",
        title="acc average",
    )
)

wrong(
    "merge_partials_torch",
    "line `wa`: the two weights are crossed, part a gets exp(m_b − m)",
    "weights exchanged",
)(
    written(
        """
def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.maximum(m_a, m_b)
    wa = torch.nan_to_num(torch.exp(m_b - m), nan=0.0)
    wb = torch.nan_to_num(torch.exp(m_a - m), nan=0.0)
    l = wa * l_a + wb * l_b
    acc = wa[..., None] * acc_a + wb[..., None] * acc_b
    return m, l, acc
""",
        title="nan to num, once more",
    )
)

wrong(
    "online_logsumexp",
    "line `m_i = tl.full`: the running maximum starts at 0, so rows of very negative numbers underflow",
    "maximum starts at 0",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
  
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), 0.0, tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
''',
        title="start m zero",
    )
)

wrong(
    "recompute_probabilities",
    "line `p = tl.exp`: divides by the sum of the tile as if lse were only the maximum",
    "one edit",
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
    in_rows = i < M
    in_tile = in_rows[:, None] & (j < N)[None, :]
    s_ptrs = s_ptr + i[:, None] * s_row + j[None, :] * s_col
    s = tl.load(s_ptrs, mask=in_tile, other=-float("inf")).to(tl.float32)
    lse = tl.load(lse_ptr + i * lse_row, mask=in_rows, other=0.0)
    shift = tl.where(lse == -float("inf"), 0.0, lse)  # an empty row: exp(−inf − 0) = 0, not exp(−inf + inf)
    p = tl.exp(s - shift[:, None])
    p = p / tl.sum(p, axis=1)[:, None]  # at most 1, and no sum: the row's is in lse already
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=in_tile)


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
        title="normalised again",
    )
)
