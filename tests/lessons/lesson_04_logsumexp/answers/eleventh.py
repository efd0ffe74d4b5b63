"""Answers to lesson 04, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "lse_identity",
    "the line `lse = sp.log(sp.exp(m) + l)` adds the two units; l counts in units of exp(m), so "
    "it is log(exp(m) * l) = m + log l",
    "one edit",
)(
    written(
        """
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(sp.exp(m) + l)
    p = s.applyfunc(lambda x: sp.exp(x - lse))
    return lse, p
""",
        title="sum of units",
    )
)

wrong(
    "merge_partials",
    "the last line merges acc as if it were a normalised output (weighted by l and divided by the"
    " new l, as in split-K decoding); acc here is an unnormalised sum",
    "acc taken for O",
)(
    written(
        """
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    l_a, l_b = l_a * sp.exp(m_a - m), l_b * sp.exp(m_b - m)
    l = l_a + l_b
    return m, l, (acc_a * l_a + acc_b * l_b) / l
""",
        title="acc as normalised output",
    )
)

wrong(
    "merge_partials_torch",
    "the line `m = torch.where(torch.isinf(m), torch.zeros_like(m), m)` puts the guard into m "
    "itself, so an empty row comes back with m = 0 instead of -inf",
    "the guard's 0 is returned",
)(
    written(
        """
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.maximum(m_a, m_b)
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m)  # both empty: no NaN
    fa, fb = torch.exp(m_a - m), torch.exp(m_b - m)
    acc = fa[..., None] * acc_a + fb[..., None] * acc_b
    return m, fa * l_a + fb * l_b, acc
""",
        title="guard leaks into m",
    )
)

wrong(
    "online_logsumexp",
    "the line `l = tl.sum(total, axis=0)` adds the lanes' sums although each is in the unit of "
    "its own lane's maximum; they must be rescaled to m first",
    "lanes not brought together",
)(
    written(
        """
from torch import Tensor


@triton.jit
def lanewise_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)  # every lane keeps a maximum and a sum of its own
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        j = start + lane
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, x)
        safe = tl.where(new == -float("inf"), 0.0, new)
        total = total * tl.exp(top - safe) + tl.exp(x - safe)
        top = new
    m = tl.max(top, axis=0)
    l = tl.sum(total, axis=0)
    tl.store(lse_ptr + i, m + tl.log(l))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    lanewise_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=32 if N <= 1024 else 1024)
    return lse
""",
        title="lanes not in one unit",
    )
)

wrong(
    "online_logsumexp",
    "the line `l_i *= tl.exp(m_i - m_new)` takes the unguarded maximum: while everything so far "
    "is -inf it is exp(-inf + inf) = NaN, only the other exponential has the guard",
    "−inf minus −inf",
)(
    written(
        """
from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    ptrs = x_ptr + i * x_row + tl.arange(0, BLOCK).to(tl.int64) * x_col
    for left in range(N, 0, -BLOCK):
        x = tl.load(ptrs, mask=tl.arange(0, BLOCK) < left, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i *= tl.exp(m_i - m_new)
        l_i += tl.sum(tl.exp(x - shift), axis=0)
        m_i = m_new
        ptrs += BLOCK * x_col
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="half guarded",
    )
)

wrong(
    "recompute_probabilities",
    "the line `p = p / tl.sum(p, axis=1)[:, None]` makes each tile's part of a row sum to 1; LSE "
    "has normalised already, and the tile is not the row",
    "softmax of the tile",
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
    total = tl.sum(p, axis=1)
    p = p / tl.where(total == 0.0, 1.0, total)[:, None]
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
        title="normalised in the tile",
    )
)

right("online_logsumexp", "lane by lane")(
    written(
        """
from torch import Tensor


@triton.jit
def lanewise_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)  # every lane keeps a maximum and a sum of its own
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        j = start + lane
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, x)
        safe = tl.where(new == -float("inf"), 0.0, new)
        total = total * tl.exp(top - safe) + tl.exp(x - safe)
        top = new
    m = tl.max(top, axis=0)
    safe_m = tl.where(m == -float("inf"), 0.0, m)
    l = tl.sum(total * tl.exp(top - safe_m), axis=0)
    tl.store(lse_ptr + i, m + tl.log(l))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    lanewise_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=32 if N <= 1024 else 1024)
    return lse
"""
    )
)

right("merge_partials_torch", "nan to num")(
    written(
        """
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m, l, acc = torch.stack([m_a, m_b]), torch.stack([l_a, l_b]), torch.stack([acc_a, acc_b])
    best = m.amax(dim=0)
    weights = torch.nan_to_num((m - best).exp(), nan=0.0)
    return best, (weights * l).sum(0), torch.einsum("p...r,p...rd->...rd", weights, acc)
"""
    )
)
