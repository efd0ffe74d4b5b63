"""Answers to lesson 12, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "folded_logsumexp",
    "for alpha < 0 the line `best = ...` takes tl.min of a tile whose hidden lanes were loaded as"
    " -inf: the minimum is -inf wherever a row is shorter than its tile.",
    "one edit",
)(
    written(
        """
from torch import Tensor


@triton.jit
def folded_logsumexp_kernel(
    x_ptr, lengths_ptr, lse_ptr, alpha, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = rows < M
    length = tl.load(lengths_ptr + rows, mask=in_rows, other=0)
    row_ptrs = x_ptr + rows.to(tl.int64)[:, None] * x_row
    factor = tl.where(alpha == 0.0, 1e-30, alpha * 1.4426950408889634)
    m = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        seen = in_rows[:, None] & (cols[None, :] < length[:, None])
        x = tl.load(row_ptrs + cols[None, :] * x_col, mask=seen, other=-float("inf")).to(tl.float32)
        best = tl.where(alpha < 0.0, tl.min(x, axis=1), tl.max(x, axis=1))
        m_new = tl.maximum(m, best * factor)
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        e = tl.where(seen, tl.exp2(x * factor - shift[:, None]), 0.0)
        total = total * tl.exp2(m - shift) + tl.sum(e, axis=1)
        m = m_new
    lse = tl.where(total > 0.0, (m + tl.log2(total)) * 0.6931471805599453, -float("inf"))
    tl.store(lse_ptr + rows, lse, mask=in_rows)


def folded_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    folded_logsumexp_kernel[(triton.cdiv(M, 16),)](
        x, lengths, lse, alpha, M, N, *x.stride(), BLOCK_M=16, BLOCK_N=64
    )
    return lse
""",
        title="minimum over hidden lanes",
    )
)

wrong(
    "split_loops",
    "`whole = end // block_k * block_k` rounds down what the block's LAST query sees: keys that "
    "the first query does not see are taken without a mask.",
    "whole as far as the last query sees",
)(
    written(
        """
def split_loops(first, block_q, block_k, S_q, S_k):
    last = min(first + block_q, S_q) - 1
    end = min(S_k, max(0, last + 1 + S_k - S_q))
    whole = end // block_k * block_k
    return whole, end
""",
        title="whole by the last query, once more",
    )
)

wrong(
    "forward_budget",
    "`tiles = stages * (block_q + 2 * block_k)` multiplies Q's tile by the stages too: it is "
    "loaded once, only K and V are kept under way.",
    "Q in every stage",
)(
    written(
        """
def forward_budget(block_q, block_k, D, size, stages, warps):
    tiles = stages * (block_q + 2 * block_k)
    threads = 32 * warps
    scores, out = block_q * block_k, block_q * D
    return tiles * D * size, sp.Rational(scores + out, threads)
""",
        title="q in every stage",
    )
)

wrong(
    "heaviest_first",
    "`divmod(pid, blocks)` lets a whole head run before the next one begins: heaviest first "
    "within a head, not over all heads.",
    "one head after the other",
)(
    written(
        """
def heaviest_first(pid, blocks, heads):
    head, position = divmod(pid, blocks)
    return blocks - 1 - position, head
""",
        title="within one head",
    )
)

wrong(
    "tuned_forward",
    "`h_k = h % H_K` deals the heads of Q out in turns; the text's head h meets head h // (H / "
    "H_K) of K and V.",
    "heads dealt round",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, forward_shape
from flashlearn.kernels.tuned_forward import EDGE, LOG2_E, refuse_misfits


@triton.jit
def scan_keys(
    q, k_desc, v_desc, m_i, l_i, acc, scale, b, h, first, end, last_seen, S_k,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # the online softmax over keys first … end, base 2: scale is alpha · log₂e, m_i in its units
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.dot(q, k.T, input_precision="ieee")
        if MASKED:
            columns = start + tl.arange(0, BLOCK_K)
            seen = (columns < S_k)[None, :]
            if CAUSAL:
                seen = seen & (columns[None, :] <= last_seen[:, None])
            s = tl.where(seen, s * scale, -float("inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
            p = tl.exp2(s - shift[:, None])
        else:
            # the largest of scale · s is scale times the smallest s where scale is negative
            best = tl.min(s, axis=1) if NEGATIVE else tl.max(s, axis=1)
            m_new = tl.maximum(m_i, best * scale)
            shift = m_new
            p = tl.exp2(s * scale - shift[:, None])  # one multiply-add and one exponential per score
        rescale = tl.exp2(m_i - shift)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        v = v_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    return m_i, l_i, acc


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def tuned_forward_kernel(
    q_desc, k_desc, v_desc, k_edge, v_edge, o_desc, lse_ptr, scale, H, H_K, S_q, S_k, GROUP, TILES,
    CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr, RAGGED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_EDGE: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # program ids count blocks of queries, the same block of GROUP heads in a row; the grid has one axis.
    # k_edge and v_edge describe k and v in blocks of BLOCK_EDGE keys, for what a mask cuts
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block  # the last block of queries sees most keys: it starts first
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    h_k = h % H_K
    q = q_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    unmasked, end = S_k, S_k
    if CAUSAL:
        end = tl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        unmasked = tl.minimum(S_k, tl.maximum(first_row + S_k - S_q + 1, 0))
    if CAUSAL or RAGGED:
        unmasked = unmasked // BLOCK_K * BLOCK_K  # whole blocks that every query of the program sees
    m_i, l_i, acc = scan_keys(
        q, k_desc, v_desc, m_i, l_i, acc, scale, b, h_k, 0, unmasked, last_seen, S_k,
        False, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D,
    )
    if CAUSAL or RAGGED:
        m_i, l_i, acc = scan_keys(
            q, k_edge, v_edge, m_i, l_i, acc, scale, b, h_k, unmasked, end, last_seen, S_k,
            True, CAUSAL, NEGATIVE, BLOCK_EDGE, BLOCK_D,
        )
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = (acc / l_i[:, None]).to(o_desc.dtype)
    o_desc.store([b, h, first_row, 0], o.reshape(1, 1, BLOCK_Q, BLOCK_D))
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453  # ln 2: LSE is kept in natural log
    tl.store(lse_ptr + bh.to(tl.int64) * S_q + rows, lse, mask=rows < S_q)


def tuned_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None,
    shape: Shape | None = None,
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; K and V are [B, H_k, S_k, D], H_k divides H.

    Any strides; `alpha` is 1/√D unless given, `shape` is `forward_shape(q, causal)`. Raises TypeError or
    ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    cut = shape or forward_shape(q, causal)
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(S_q, cut.block_q)
    group = heads_together(B * H, tiles, 2 * S_k * D * k.element_size() * H_k // H, causal)
    edge = min(EDGE, cut.block_k)
    tuned_forward_kernel[(tiles * B * H,)](
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(k, edge), described(v, edge), described(o, cut.block_q), lse, alpha * LOG2_E,
        H, H_k, S_q, S_k, group, tiles,
        CAUSAL=causal, NEGATIVE=alpha < 0, RAGGED=S_k % cut.block_k != 0,
        BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_EDGE=edge, BLOCK_D=block_d(D), **cut.options,
    )
    return o, lse
''',
        title="heads of k interleaved",
    )
)

wrong(
    "lean_forward",
    "`Shape(128, 128, 4, 2)` gives each thread 256 fp32 accumulators at D 128: numbers are right,"
    " and registers are spilled.",
    "review",
)(
    written(
        """
from torch import Tensor
from flashlearn.kernels import tuned_forward as course_forward
from flashlearn.kernels.shapes import Shape


def lean_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    # large tiles read K and V least often, and few warps keep many programs on a multiprocessor
    return course_forward.tuned_forward(q, k, v, causal, alpha, shape=Shape(128, 128, 4, 2))
""",
        title="largest tile few warps",
    )
)

wrong(
    "tuned_backward",
    "two faults in tuned_dkv_kernel: `whole = tl.maximum(first_column - shift, 0)` takes the "
    "block's first key where its last decides from when no mask is needed, and dK is multiplied "
    "by `scale` (alpha times log2 e) in place of alpha.",
    "some rows",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, backward_shapes
from flashlearn.kernels.tuned_backward import delta_and_lse
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits


@triton.jit
def scan_queries(
    dk, dv, k, v, q_desc, do_desc, lse_ptr, delta_ptr, scale, b, h, first, end, columns, shift,
    MASKED: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # Sᵀ, Pᵀ, dPᵀ and dSᵀ are [keys, queries]; shift is S_k - S_q: query i sees the keys up to i + shift
    for start in tl.range(first, end, BLOCK_Q):
        rows = start + tl.arange(0, BLOCK_Q)
        q = q_desc.load([b, h, start, 0]).reshape(BLOCK_Q, BLOCK_D)
        do = do_desc.load([b, h, start, 0]).reshape(BLOCK_Q, BLOCK_D)
        s = tl.dot(k, q.T, input_precision="ieee")
        dp = tl.dot(v, do.T, input_precision="ieee")
        p = tl.exp2(s * scale - tl.load(lse_ptr + rows)[None, :])
        if MASKED:
            p = tl.where(columns[:, None] <= rows[None, :] + shift, p, 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv, input_precision="ieee")
        ds = p * (dp - tl.load(delta_ptr + rows)[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
    return dk, dv


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def tuned_dkv_kernel(
    q_desc, k_desc, v_desc, do_desc, dk_desc, dv_desc, lse_ptr, delta_ptr, alpha, scale,
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES,
    CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # a program owns a block of keys of one head of K and V, and scans the queries of every head it serves
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP  # under a causal mask the first block of keys is seen most: it starts first
    b, h_k = bh // H_K, bh % H_K
    first_column = block * BLOCK_K
    columns = first_column + tl.arange(0, BLOCK_K)
    k = k_desc.load([b, h_k, first_column, 0]).reshape(BLOCK_K, BLOCK_D)
    v = v_desc.load([b, h_k, first_column, 0]).reshape(BLOCK_K, BLOCK_D)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    shift = S_k - S_q
    first, unmasked = 0, 0
    if CAUSAL:
        last = tl.cdiv(S_q, BLOCK_Q) * BLOCK_Q
        first = tl.maximum(first_column - shift, 0) // BLOCK_Q * BLOCK_Q  # nobody before sees this block
        whole = tl.maximum(first_column - shift, 0)
        unmasked = tl.minimum(tl.cdiv(whole, BLOCK_Q) * BLOCK_Q, last)
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        lse_of_h = lse_ptr + (b * H + h).to(tl.int64) * S_PADDED
        delta_of_h = delta_ptr + (b * H + h).to(tl.int64) * S_PADDED
        if CAUSAL:
            dk, dv = scan_queries(
                dk, dv, k, v, q_desc, do_desc, lse_of_h, delta_of_h, scale, b, h, first, unmasked,
                columns, shift, True, BLOCK_Q, BLOCK_D,
            )
        dk, dv = scan_queries(
            dk, dv, k, v, q_desc, do_desc, lse_of_h, delta_of_h, scale, b, h, unmasked, S_q,
            columns, shift, False, BLOCK_Q, BLOCK_D,
        )
    dv_desc.store([b, h_k, first_column, 0], dv.to(dv_desc.dtype).reshape(1, 1, BLOCK_K, BLOCK_D))
    dk_desc.store([b, h_k, first_column, 0], (dk * scale).to(dk_desc.dtype).reshape(1, 1, BLOCK_K, BLOCK_D))


@triton.jit
def scan_keys_again(
    dq, q, do, lse, delta, k_desc, v_desc, scale, b, h, first, end, last_seen, S_k,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # P and dS of this block of queries, [queries, keys], rebuilt for keys first … end
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        v = v_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.dot(q, k.T, input_precision="ieee") * scale
        dp = tl.dot(do, v.T, input_precision="ieee")
        if MASKED:
            columns = start + tl.arange(0, BLOCK_K)
            seen = (columns < S_k)[None, :]
            if CAUSAL:
                seen = seen & (columns[None, :] <= last_seen[:, None])
            s = tl.where(seen, s, -float("inf"))
        ds = tl.exp2(s - lse[:, None]) * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    return dq


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def tuned_dq_kernel(
    q_desc, k_desc, v_desc, do_desc, dq_desc, lse_ptr, delta_ptr, alpha, scale,
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES,
    CAUSAL: tl.constexpr, RAGGED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # a program owns a block of queries, as in the forward pass, and rebuilds P and dS of it
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    h_k = h // (H // H_K)
    q = q_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    do = do_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    lse = tl.load(lse_ptr + bh.to(tl.int64) * S_PADDED + rows)
    delta = tl.load(delta_ptr + bh.to(tl.int64) * S_PADDED + rows)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q
    unmasked, end = S_k, S_k
    if CAUSAL:
        end = tl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        unmasked = tl.minimum(S_k, tl.maximum(first_row + S_k - S_q + 1, 0))
    if CAUSAL or RAGGED:
        unmasked = unmasked // BLOCK_K * BLOCK_K
    dq = scan_keys_again(
        dq, q, do, lse, delta, k_desc, v_desc, scale, b, h_k, 0, unmasked, last_seen, S_k,
        False, CAUSAL, BLOCK_K, BLOCK_D,
    )
    if CAUSAL or RAGGED:
        dq = scan_keys_again(
            dq, q, do, lse, delta, k_desc, v_desc, scale, b, h_k, unmasked, end, last_seen, S_k,
            True, CAUSAL, BLOCK_K, BLOCK_D,
        )
    dq_desc.store([b, h, first_row, 0], (dq * alpha).to(dq_desc.dtype).reshape(1, 1, BLOCK_Q, BLOCK_D))


def tuned_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None, shapes: tuple[Shape, Shape] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV, each of its input's shape and dtype; o and lse as `tuned_forward` returned them.

    Any strides; `alpha` is 1/√D unless given, `shapes` are `backward_shapes(q, causal)`. Raises TypeError or
    ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    q, k, v, do = complying(q), complying(k), complying(v), complying(do)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    delta, lse2 = delta_and_lse(o, do, lse)
    dq, dk, dv = like(q, q.shape), like(k, k.shape), like(v, v.shape)
    dkv, own = shapes or backward_shapes(q, causal)
    BLOCK_D, padded = block_d(D), lse2.shape[1]
    scanned = 2 * D * q.element_size()  # bytes per row of the two tensors that a program scans
    tiles = triton.cdiv(S_k, dkv.block_k)
    group = heads_together(B * H_k, tiles, scanned * S_q * H // H_k, causal)
    tuned_dkv_kernel[(tiles * B * H_k,)](
        described(q, dkv.block_q), described(k, dkv.block_k), described(v, dkv.block_k),
        described(do, dkv.block_q), described(dk, dkv.block_k), described(dv, dkv.block_k),
        lse2, delta, alpha, alpha * LOG2_E, H, H_k, S_q, S_k, padded, group, tiles,
        CAUSAL=causal, BLOCK_Q=dkv.block_q, BLOCK_K=dkv.block_k, BLOCK_D=BLOCK_D, **dkv.options,
    )
    tiles = triton.cdiv(S_q, own.block_q)
    group = heads_together(B * H, tiles, scanned * S_k * H_k // H, causal)
    tuned_dq_kernel[(tiles * B * H,)](
        described(q, own.block_q), described(k, own.block_k), described(v, own.block_k),
        described(do, own.block_q), described(dq, own.block_q),
        lse2, delta, alpha, alpha * LOG2_E, H, H_k, S_q, S_k, padded, group, tiles,
        CAUSAL=causal, RAGGED=S_k % own.block_k != 0,
        BLOCK_Q=own.block_q, BLOCK_K=own.block_k, BLOCK_D=BLOCK_D, **own.options,
    )
    return dq, dk, dv
''',
        title="unmasked from the first key and dk by scale",
    )
)

right("folded_logsumexp", "maximum after the factor")(
    written(
        """
from torch import Tensor


@triton.jit
def folded_logsumexp_kernel(
    x_ptr, lengths_ptr, lse_ptr, alpha, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = rows < M
    length = tl.load(lengths_ptr + rows, mask=in_rows, other=0)
    row_ptrs = x_ptr + rows.to(tl.int64)[:, None] * x_row
    c = alpha * 1.4426950408889634
    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    mass = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        seen = in_rows[:, None] & (cols[None, :] < length[:, None])
        z = tl.load(row_ptrs + cols[None, :] * x_col, mask=seen, other=0.0).to(tl.float32) * c
        z = tl.where(seen, z, -float("inf"))
        higher = tl.maximum(top, tl.max(z, axis=1))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        mass = mass * tl.exp2(top - safe) + tl.sum(tl.exp2(z - safe[:, None]), axis=1)
        top = higher
    lse = 0.6931471805599453 * (top + tl.log2(tl.where(mass == 0.0, 1.0, mass)))
    tl.store(lse_ptr + rows, lse, mask=in_rows)


def folded_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    folded_logsumexp_kernel[(triton.cdiv(M, 16),)](
        x, lengths, lse, alpha, M, N, *x.stride(), BLOCK_M=16, BLOCK_N=64
    )
    return lse
"""
    )
)
