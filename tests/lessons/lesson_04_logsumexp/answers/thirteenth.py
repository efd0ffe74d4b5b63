"""Answers to lesson 04, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "lse_identity",
    "line sp.exp(s_j) / lse: the logarithm is used as if it were the sum itself",
    "divided by the LSE",
)(
    written(
        """
def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(l) + m
    p = s.applyfunc(lambda s_j: sp.exp(s_j) / lse)
    return lse, p
""",
        title="divided by lse",
    )
)

wrong(
    "merge_partials",
    "lines sp.exp(m - m_a): the factors are the inverses of what rescales to the common unit",
    "exponents with the other sign",
)(
    written(
        """
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    up_a = sp.exp(m - m_a)
    up_b = sp.exp(m - m_b)
    return m, l_a * up_a + l_b * up_b, acc_a * up_a + acc_b * up_b
""",
        title="weights upside down",
    )
)

wrong(
    "merge_partials_torch",
    "line m = m.nan_to_num(neginf=0.0): the guard is returned as m, so an empty row has m = 0 and not -inf",
    "the guard's 0 is returned",
)(
    written(
        """
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.maximum(m_a, m_b)
    m = m.nan_to_num(neginf=0.0)
    f_a = torch.exp(m_a - m)
    f_b = torch.exp(m_b - m)
    l = f_a * l_a + f_b * l_b
    acc = f_a[..., None] * acc_a + f_b[..., None] * acc_b
    return m, l, acc
""",
        title="empty rows get zero max",
    )
)

wrong(
    "merge_partials_torch",
    "lines if (m_a == -inf).all(): the guard looks at the whole part, so single rows that are "
    "empty in both still become NaN",
    "inf minus inf",
)(
    written(
        """
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    if (m_a == -math.inf).all():
        return m_b, l_b, acc_b
    if (m_b == -math.inf).all():
        return m_a, l_a, acc_a
    m = torch.maximum(m_a, m_b)
    a, b = (m_a - m).exp(), (m_b - m).exp()
    return m, a * l_a + b * l_b, a.unsqueeze(-1) * acc_a + b.unsqueeze(-1) * acc_b
""",
        title="guard for whole part",
    )
)

wrong(
    "online_logsumexp",
    "two for loops: the maximum is found in a first walk and the sum in a second, every score is "
    "read twice where one pass is asked for",
    "review",
)(
    written(
        """
from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    x_ptr += i * x_row
    top = tl.full((), -float("inf"), tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(x, axis=0))
    safe = tl.where(top == -float("inf"), 0.0, top)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - safe), axis=0)
    tl.store(lse_ptr + i, top + tl.log(total))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="two passes",
    )
)

wrong(
    "online_logsumexp",
    "line m_i = tl.full((), 0.0, ...): the running maximum begins at 0, so rows near -100 "
    "underflow and give -inf",
    "one edit",
)(
    written(
        """
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
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="largest starts at zero",
    )
)

wrong(
    "recompute_probabilities",
    "line p = tl.exp(s) / tl.exp(lse): the quotient of exponentials overflows or underflows where"
    " the difference in the exponent would not (and an empty row is 0 / 0)",
    "exponentials apart",
)(
    written(
        """
from torch import Tensor


@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ok = (r < M)[:, None] & (c < N)[None, :]
    s = tl.load(s_ptr + r[:, None] * s_row + c[None, :] * s_col, mask=ok, other=-float("inf")).to(tl.float32)
    lse = tl.load(lse_ptr + r * lse_row, mask=r < M, other=0.0)
    p = tl.exp(s) / tl.exp(lse)[:, None]
    tl.store(p_ptr + r[:, None] * p_row + c[None, :] * p_col, p, mask=ok)


def recompute_probabilities(s: Tensor, lse: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = 16, 64
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
""",
        title="exp over exp",
    )
)

right("merge_partials_torch", "weights mended")(
    written(
        """
from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.max(m_a, m_b)
    weights = torch.stack([m_a - m, m_b - m]).exp().nan_to_num(nan=0.0)
    l = (weights * torch.stack([l_a, l_b])).sum(0)
    acc = (weights[..., None] * torch.stack([acc_a, acc_b])).sum(0)
    return m, l, acc
"""
    )
)

right("online_logsumexp", "finite start")(
    written(
        """
from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = tl.full((), -1e37, tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_row + col * x_col, mask=col < N, other=-float("inf")).to(tl.float32)
        before = top
        top = tl.maximum(before, tl.max(x, axis=0))
        total = total * tl.exp(before - top) + tl.sum(tl.exp(x - top), axis=0)
    tl.store(lse_ptr + row, tl.log(total) + top)


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=256 if N > 256 else 16)
    return lse
"""
    )
)
