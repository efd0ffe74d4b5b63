"""Answers to lesson 04, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "merge_partials_torch",
    "No guard: where both maxima are −inf, `m_a - m` is −inf + inf, and l and acc become NaN for that "
    "row. Subtract 0 where m is −inf.",
    "the empty merge is not guarded",
)(
    written(
        """
def merge_partials_torch(
    m_a, l_a, acc_a, m_b, l_b, acc_b
):
    m = torch.maximum(m_a, m_b)
    alpha = torch.exp(m_a - m)
    beta = torch.exp(m_b - m)
    l = alpha * l_a + beta * l_b
    acc = alpha[..., None] * acc_a + beta[..., None] * acc_b
    return m, l, acc
""",
        title="two empty parts give NaN",
    )
)

wrong(
    "merge_partials_torch",
    "The guard replaces −inf by 0 in m itself, and this m is returned: for a row that is empty in both "
    "parts the result is (0, 0, 0) where (−inf, 0, 0) is asked for. Keep the guard in a name of its own.",
    "the guard's 0 is returned",
)(
    written(
        """
def merge_partials_torch(
    m_a, l_a, acc_a, m_b, l_b, acc_b
):
    m = torch.maximum(m_a, m_b)
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m)  # avoid inf - inf
    wa = (m_a - m).exp()
    wb = (m_b - m).exp()
    return m, wa * l_a + wb * l_b, wa.unsqueeze(-1) * acc_a + wb.unsqueeze(-1) * acc_b
""",
        title="guarded maximum returned as the result",
    )
)

wrong(
    "merge_partials_torch",
    "`w[:, None]` puts the new axis behind the first dimension. For m of shape [R] that is right; for "
    "[H, R] it gives [H, 1, R], which does not line up with acc [H, R, D] (an error, or wrong if D = R). "
    "Use unsqueeze(-1).",
    "crashed",
)(
    written(
        """
def merge_partials_torch(
    m_a, l_a, acc_a, m_b, l_b, acc_b
):
    m = torch.max(m_a, m_b)
    safe = m.masked_fill(m == float("-inf"), 0.0)
    w_a = torch.exp(m_a - safe)
    w_b = torch.exp(m_b - safe)
    l = l_a * w_a + l_b * w_b
    acc = acc_a * w_a[:, None] + acc_b * w_b[:, None]
    return m, l, acc
""",
        title="new axis put in second place",
    )
)

wrong(
    "online_logsumexp",
    "No guard: while only −inf has been seen, m_new is −inf and both `m_i - m_new` and `x - m_new` are "
    "−inf + inf. A first block of −inf, or a whole row of it, ends as NaN.",
    "−inf minus −inf",
)(
    written(
        """
@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than most rows, and never as long as it takes
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="blocks of minus infinity turn into NaN",
    )
)

wrong(
    "online_logsumexp",
    "`l_i += …` adds the new block to a sum that is still in units of the old maximum: the factor "
    "exp(m_i − m_new) is missing. Wrong whenever a later block has a larger maximum.",
    "l not rescaled",
)(
    written(
        """
@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    cols = tl.arange(0, BLOCK)
    for k in range(0, tl.cdiv(N, BLOCK)):
        c = k * BLOCK + cols
        x = tl.load(x_ptr + row * x_row + c * x_col, mask=c < N, other=float("-inf")).to(tl.float32)
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_i == float("-inf"), 0.0, m_i)
        l_i += tl.sum(tl.exp(x - shift), axis=0)
    tl.store(lse_ptr + row, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="old sum not converted to the new unit",
    )
)

wrong(
    "online_logsumexp",
    "m_i starts at 0 instead of −inf, so the maximum is never below 0: in a row of scores around −200 "
    "every exponential underflows, and the result is log 0 = −inf.",
    "maximum starts at 0",
)(
    written(
        """
@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), 0.0, tl.float32)  # 0 so that -inf - -inf can not happen
    l_i = tl.full((), 0.0, tl.float32)
    start = 0
    while start < N:
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
        start += BLOCK
    tl.store(lse_ptr + i, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="maximum starts at zero",
    )
)

wrong(
    "online_logsumexp",
    "`m_new` is the block's own maximum and forgets m_i. Right in exact arithmetic, but where the scores "
    "fall by more than 88 along the row, exp(m_i − m_new) overflows and the result is inf (and a last "
    "block of −inf loses everything).",
    "the block's own maximum",
)(
    written(
        """
@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in tl.range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        in_row = j < N
        s = tl.load(x_ptr + i * x_row + j * x_col, mask=in_row, other=-float("inf")).to(tl.float32)
        m_new = tl.max(s, axis=0)
        m_safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.exp(s - m_safe)
        l_i = tl.exp(m_i - m_safe) * l_i + tl.sum(p, axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="maximum of the current block only",
    )
)

wrong(
    "online_logsumexp",
    "`other=0.0`: each idle lane of the last block is a score of 0 that enters maximum and sum. Wrong "
    "for every N that is no multiple of BLOCK; the filler must be −inf.",
    "padding enters the sum",
)(
    written(
        """
@triton.jit
def merge_in(m, l, x):
    m_new = tl.maximum(m, tl.max(x, axis=0))
    shift = tl.where(m_new == -float("inf"), 0.0, m_new)
    return m_new, l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)

@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=0.0).to(tl.float32)
        m_i, l_i = merge_in(m_i, l_i, x)
    tl.store(lse_ptr + i, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=64)
    return lse
""",
        title="padding of the last block counted as scores of zero",
    )
)

wrong(
    "online_logsumexp",
    "Two mistakes: `tl.log2(l_i)` mixes base two with natural exponentials (tl.log is needed, or a "
    "factor ln 2), wrong whenever l ≠ 1; and x_col is missing from the address, wrong for a transposed x "
    "or x[:, ::2].",
    "base-2 logarithm + columns one apart",
)(
    written(
        """
@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    row_ptr = x_ptr + i * x_row
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(row_ptr + j, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log2(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
""",
        title="logarithm to base two and columns without their stride",
    )
)

right("online_logsumexp", "maximum starts at the lowest finite number, no guard in the loop")(
    written("""
@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -3.4028234e38, tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    j = tl.arange(0, BLOCK)
    left = N
    while left > 0:
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_old = m_i
        m_i = tl.maximum(m_old, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_old - m_i) + tl.sum(tl.exp(x - m_i), axis=0)
        j += BLOCK
        left -= BLOCK
    tl.store(lse_ptr + i, tl.log(l_i) + m_i)

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=128)
    return lse
""")
)

wrong(
    "recompute_probabilities",
    "lse is loaded at `j` and subtracted along the columns; it is one number per row: load at i under "
    "the rows' mask and subtract lse[:, None]. Wrong for nearly every input, and out of bounds for N > "
    "M.",
    "lse taken by column",
)(
    written(
        """
@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (i < M)[:, None] & (j < N)[None, :]
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=mask, other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + j * lse_row, mask=j < N, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)
    p = tl.exp(s - lse[None, :])
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=mask)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
""",
        title="lse loaded by column",
    )
)

wrong(
    "recompute_probabilities",
    "`lse_ptr + i` takes lse to be contiguous; it has a stride of its own, lse_row. For lse = column of "
    "a matrix, or lse[::2], other rows' numbers (or foreign ones) are subtracted.",
    "stride of lse ignored",
)(
    written(
        """
@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    r_ok = r < M
    ok = r_ok[:, None] & (c < N)[None, :]
    scores = tl.load(s_ptr + r[:, None] * s_row + c[None, :] * s_col, mask=ok, other=-float("inf"))
    row_lse = tl.load(lse_ptr + r, mask=r_ok, other=0.0)
    empty = row_lse == -float("inf")
    p = tl.where(empty[:, None], 0.0, tl.exp(scores.to(tl.float32) - row_lse[:, None]))
    tl.store(p_ptr + r[:, None] * p_row + c[None, :] * p_col, p, mask=ok)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = 32, 32
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
""",
        title="stride of lse ignored",
    )
)

wrong(
    "recompute_probabilities",
    "After the exponential the tile is divided by its own row sum. The row's sum is in lse already, and "
    "a tile does not see the whole row: each tile of columns sums to 1. Wrong for every N greater than "
    "BLOCK_N = 32.",
    "softmax of the tile",
)(
    written(
        """
@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_tile = (i < M)[:, None] & (j < N)[None, :]
    s = tl.load(
        s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=in_tile, other=-float("inf")
    ).to(tl.float32)
    lse = tl.load(lse_ptr + i * lse_row, mask=i < M, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)
    e = tl.exp(s - lse[:, None])
    total = tl.sum(e, axis=1)
    total = tl.where(total == 0.0, 1.0, total)
    p = e / total[:, None]
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=in_tile)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
""",
        title="each tile normalised by itself",
    )
)

wrong(
    "recompute_probabilities",
    "The kernel takes its rows from program_id(1) and its columns from program_id(0), while the "
    "launcher's grid is (row blocks, column blocks). Wherever the two counts differ (M = 8, N = 100), "
    "part of p is never written.",
    "never written",
)(
    written(
        """
@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    j = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    i = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    inside = (i < M)[:, None] & (j < N)[None, :]
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=inside, other=-float("inf"))
    lse = tl.load(lse_ptr + i * lse_row, mask=i < M, other=0.0)
    shift = tl.where(lse == -float("inf"), 0.0, lse)
    p = tl.exp(s.to(tl.float32) - shift[:, None])
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=inside)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
""",
        title="axes of the grid exchanged in the kernel",
    )
)

wrong(
    "recompute_probabilities",
    "Two mistakes: lse is converted to the dtype of s and subtracted there, in fp16 or bf16 an error of "
    "whole percents for scores around 100; and a row of −inf gives −inf + inf = NaN instead of 0.",
    "lse in half precision + −inf minus −inf",
    "inf minus inf + lse in half precision",
    "−inf minus −inf + precision",
)(
    written(
        """
@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    tile = (i[:, None] < M) & (j[None, :] < N)
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=tile, other=0.0)
    lse = tl.load(lse_ptr + i * lse_row, mask=i < M, other=0.0).to(s.dtype)
    diff = s - lse[:, None]
    p = tl.exp(diff.to(tl.float32))
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=tile)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
""",
        title="lse rounded to the scores' type and no guard",
    )
)
