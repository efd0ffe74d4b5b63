"""Answers to tuned_backward: right ones in several styles, and the slips that tuning brings."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from tests.corpus import edited, right, written, wrong

TWO = """
@triton.jit
def keys_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, B, H, H_k, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # owns BLOCK_K keys of one head of K; the first blocks are seen by most queries, and come first
    block = tl.program_id(0) // (B * H_k)
    b = (tl.program_id(0) % (B * H_k) // H_k).to(tl.int64)
    h_k = (tl.program_id(0) % H_k).to(tl.int64)
    k_ptr += b * k_batch + h_k * k_head
    v_ptr += b * v_batch + h_k * v_head
    dk_ptr += b * dk_batch + h_k * dk_head
    dv_ptr += b * dv_batch + h_k * dv_head
    columns = block * BLOCK_K + tl.arange(0, BLOCK_K)
    queries, d = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_D)
    in_keys, in_d = columns < S_k, d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    c = alpha * 1.4426950408889634
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first, all_see = 0, 0  # the first query that sees a key of this block; the first that sees all of them
    if IS_CAUSAL:
        first = tl.maximum(0, block * BLOCK_K - (S_k - S_q)) // BLOCK_Q * BLOCK_Q
        all_see = tl.maximum(0, (block + 1) * BLOCK_K - 1 - (S_k - S_q))
    q_tile = queries[:, None] * q_row + d[None, :] * q_col
    do_tile = queries[:, None] * do_row + d[None, :] * do_col
    for g in range(0, H // H_k):
        h = h_k * (H // H_k) + g
        q_base, do_base = q_ptr + b * q_batch + h * q_head, do_ptr + b * do_batch + h * do_head
        row_base = (b * H + h) * S_q
        for start in range(first, S_q, BLOCK_Q):
            rows = start + queries
            in_queries = rows < S_q
            in_tile = in_queries[:, None] & in_d[None, :]
            at = start.to(tl.int64)
            q = tl.load(q_base + at * q_row + q_tile, mask=in_tile, other=0.0)
            do = tl.load(do_base + at * do_row + do_tile, mask=in_tile, other=0.0)
            # a padded query: 2^(x − ∞) = 0
            lse = tl.load(lse_ptr + row_base + rows, mask=in_queries, other=float("inf"))
            lse = tl.where(lse == -float("inf"), float("inf"), lse) * 1.4426950408889634
            delta = tl.load(delta_ptr + row_base + rows, mask=in_queries, other=0.0)
            x_t = tl.dot(k, tl.trans(q), input_precision="ieee")  # (BLOCK_K, BLOCK_Q)
            if IS_CAUSAL:
                if start < all_see:  # the diagonal crosses this tile
                    seen = columns[:, None] <= rows[None, :] + S_k - S_q
                    lse_t = tl.where(seen, lse[None, :], float("inf"))
                    p_t = tl.exp2(x_t * c - lse_t)
                else:
                    p_t = tl.exp2(x_t * c - lse[None, :])
            else:
                p_t = tl.exp2(x_t * c - lse[None, :])
            dv += tl.dot(p_t.to(do.dtype), do, input_precision="ieee")
            dp_t = tl.dot(v, tl.trans(do), input_precision="ieee")
            ds_t = p_t * (dp_t - delta[None, :])
            dk += tl.dot(ds_t.to(q.dtype), q, input_precision="ieee")
    dk_tile = columns[:, None] * dk_row + d[None, :] * dk_col
    dv_tile = columns[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + dk_tile, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


@triton.jit
def queries_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, B, H, H_k, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # owns BLOCK_Q queries; heavy blocks first, as in the forward pass
    blocks = tl.cdiv(S_q, BLOCK_Q)
    block = blocks - 1 - tl.program_id(0) // (B * H)
    b = (tl.program_id(0) % (B * H) // H).to(tl.int64)
    h = (tl.program_id(0) % H).to(tl.int64)
    h_k = h // (H // H_k)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h_k * k_head
    v_ptr += b * v_batch + h_k * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q
    rows = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys, d = tl.arange(0, BLOCK_K), tl.arange(0, BLOCK_D)
    in_queries, in_d = rows < S_q, d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse) * 1.4426950408889634
    delta = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    c = alpha * 1.4426950408889634
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    k_tile = keys[:, None] * k_row + d[None, :] * k_col
    v_tile = keys[:, None] * v_row + d[None, :] * v_col
    end, whole = S_k, S_k // BLOCK_K * BLOCK_K
    if IS_CAUSAL:
        end = tl.maximum(0, tl.minimum(S_k, (block + 1) * BLOCK_Q + S_k - S_q))
        whole = tl.maximum(0, tl.minimum(S_k, block * BLOCK_Q + 1 + S_k - S_q)) // BLOCK_K * BLOCK_K
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        at = start.to(tl.int64)
        in_tile = (columns < S_k)[:, None] & in_d[None, :]
        k = tl.load(k_ptr + at * k_row + k_tile, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + at * v_row + v_tile, mask=in_tile, other=0.0)
        x = tl.dot(q, tl.trans(k), input_precision="ieee")
        if start >= whole:  # the diagonal, or the last key, crosses this tile
            last_seen = S_k - 1
            if IS_CAUSAL:
                x = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, x * c, -float("inf"))
            else:
                x = tl.where(columns[None, :] <= last_seen, x * c, -float("inf"))
        else:
            x = x * c
        p = tl.exp2(x - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)


def by_two_kernels(
    q, k, v, o, do, lse, causal, alpha
):
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1], k.shape[2]
    delta, lse = (o.float() * do.float()).sum(-1), lse.contiguous()
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    dk = torch.empty((B, H_k, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H_k, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    BLOCK = 32
    shared = (q, k, v, do, lse, delta)
    sizes = (alpha, B, H, H_k, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *do.stride())
    blocks = {"IS_CAUSAL": causal, "BLOCK_Q": BLOCK, "BLOCK_K": BLOCK, "BLOCK_D": BLOCK_D}
    keys_kernel[(triton.cdiv(S_k, BLOCK) * B * H_k,)](
        *shared, dk, dv, *sizes, *dk.stride(), *dv.stride(), **blocks, num_warps=4 if BLOCK_D <= 64 else 8
    )
    queries_kernel[(triton.cdiv(S_q, BLOCK) * B * H,)](
        *shared, dq, *sizes, *dq.stride(), **blocks, num_warps=4 if BLOCK_D <= 64 else 8
    )
    return dq, dk, dv
"""

right("tuned_backward", "two kernels, delta by torch")(written(TWO))


def slip(says: str, *names: str, edits: tuple) -> None:
    """The right answer with a few places changed."""
    wrong("tuned_backward", says, *names, title=says)(edited(TWO, *edits))


slip(
    "dQ and dK carry log2 e.",
    "log2 e left in dQ and dK",
    edits=(("(alpha * dk).to", "(c * dk).to"), ("(alpha * dq).to", "(c * dq).to")),
)
slip(
    "alpha is missing from both gradients.",
    "alpha is missing after the loop",
    edits=(("(alpha * dk).to", "dk.to"), ("(alpha * dq).to", "dq.to")),
)
slip(
    "alpha is missing from dK.",
    "alpha is missing from dK",
    "alpha is missing after the loop",
    edits=(("(alpha * dk).to", "dk.to"),),
)
slip(
    "One query head of the group alone reaches dK and dV.",
    "one head of the group",
    edits=(("for g in range(0, H // H_k):", "for g in range(H // H_k - 1, H // H_k):"),),
)
slip(
    "LSE is not brought to base 2 in the kernel that owns keys.",
    "log2 e is missing from LSE",
    edits=(("            lse = tl.where(lse == -float(\"inf\"), float(\"inf\"), lse) * 1.4426950408889634\n",
            "            lse = tl.where(lse == -float(\"inf\"), float(\"inf\"), lse)\n"),),
)  # fmt: skip
slip(
    "delta lies along the keys.",
    "delta along the keys",
    edits=(("dp_t - delta[None, :]", "dp_t - delta[:, None]"),),
)
slip(
    "No guard for queries that see nothing, in the kernel that owns queries.",
    "no guard for queries that see nothing",
    "one edit",
    "not finite",
    "inf minus inf",
    edits=(("    lse = tl.where(lse == -float(\"inf\"), float(\"inf\"), lse) * 1.4426950408889634\n    delta",
            "    lse = lse * 1.4426950408889634\n    delta"),),
)  # fmt: skip
slip("delta is forgotten in dK.", "delta omitted", edits=(("(dp_t - delta[None, :])", "dp_t"),))
slip(
    "delta is forgotten in both.",
    "delta omitted",
    edits=(("(dp_t - delta[None, :])", "dp_t"), ("(dp - delta[:, None])", "dp")),
)
slip(
    "The mask of the kernel that owns keys is turned round.",
    "leak from the future",
    edits=(("seen = columns[:, None] <= rows[None, :] + S_k - S_q",
            "seen = columns[:, None] >= rows[None, :] + S_k - S_q"),),
)  # fmt: skip
slip(
    "The diagonal is masked only as far as the first query that sees a key.",
    "mask forgotten",
    "one edit",
    "leak from the future",
    edits=(("if start < all_see:", "if start < first:"),),
)
slip(
    "The mask is aligned top-left in dQ.",
    "mask aligned top-left",
    "one edit",
    edits=(("columns[None, :] <= rows[:, None] + S_k - S_q, x * c", "columns[None, :] <= rows[:, None], x * c"),),
)  # fmt: skip
slip(
    "dK and dV change places.",
    "dK and dV exchanged",
    "outputs exchanged",
    edits=(("    return dq, dk, dv\n", "    return dq, dv, dk\n"),),
)
slip(
    "Atomics into memory from torch.empty.",
    "uninitialised memory",
    edits=(("    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)",
            "    tl.atomic_add(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)"),),
)  # fmt: skip

ONE = """
@triton.jit
def one_pass_kernel(Q, K, V, DO, LSE, DELTA, DQ, DK, DV, alpha, H, G, M, N,
                    CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    HK = H // G
    b, hk = tl.program_id(1) // HK, tl.program_id(1) % HK
    j0 = tl.program_id(0) * BN
    cols = j0 + tl.arange(0, BN)
    k = K.load([b, hk, j0, 0]).reshape(BN, BD)
    v = V.load([b, hk, j0, 0]).reshape(BN, BD)
    dk = tl.zeros((BN, BD), tl.float32)
    dv = tl.zeros((BN, BD), tl.float32)
    begin = tl.maximum(0, j0 - (N - M)) // BM * BM if CAUSAL else 0
    for g in range(0, G):
        h = hk * G + g
        for i0 in tl.range(begin, M, BM):
            rows = i0 + tl.arange(0, BM)
            at = (b * H + h) * M + rows
            q = Q.load([b, h, i0, 0]).reshape(BM, BD)
            do = DO.load([b, h, i0, 0]).reshape(BM, BD)
            lse = tl.load(LSE + at, mask=rows < M, other=float("inf"))
            lse = tl.where(lse == float("-inf"), float("inf"), lse)
            delta = tl.load(DELTA + at, mask=rows < M, other=0.0)
            s = tl.dot(k, q.T, input_precision="ieee") * alpha
            seen = (cols < N)[:, None] & (rows < M)[None, :]
            if CAUSAL:
                seen = seen & (cols[:, None] <= rows[None, :] + N - M)
            p = tl.exp(tl.where(seen, s, float("-inf")) - lse[None, :])
            dv += tl.dot(p.to(do.dtype), do, input_precision="ieee")
            ds = p * (tl.dot(v, do.T, input_precision="ieee") - delta[None, :])
            dk += tl.dot(ds.to(q.dtype), q, input_precision="ieee")
            dq = alpha * tl.dot(tl.trans(ds.to(k.dtype)), k, input_precision="ieee")
            DQ.atomic_add([b, h, i0, 0], dq.reshape(1, 1, BM, BD))
    DK.store([b, hk, j0, 0], (alpha * dk).reshape(1, 1, BN, BD))
    DV.store([b, hk, j0, 0], dv.reshape(1, 1, BN, BD))


def in_one_pass(q, k, v, o, do, lse, causal, alpha):
    B, H, M, D = q.shape
    HK, N, BD = k.shape[1], k.shape[2], max(16, triton.next_power_of_2(D))
    delta = (o.float() * do.float()).sum(-1)
    q_, k_, v_, do_ = (torch.nn.functional.pad(t, (0, BD - D)).contiguous() for t in (q, k, v, do))
    dq = torch.zeros(B, H, M, BD, dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k_), torch.empty_like(v_)
    BM, BN = 16, 32
    take = TensorDescriptor.from_tensor
    one_pass_kernel[(triton.cdiv(N, BN), B * HK)](
        take(q_, [1, 1, BM, BD]), take(k_, [1, 1, BN, BD]), take(v_, [1, 1, BN, BD]), take(do_, [1, 1, BM, BD]),
        lse.contiguous(), delta, take(dq, [1, 1, BM, BD]), take(dk, [1, 1, BN, BD]), take(dv, [1, 1, BN, BD]),
        alpha, H, H // HK, M, N, CAUSAL=causal, BM=BM, BN=BN, BD=BD)
    return dq[..., :D].to(q.dtype), dk[..., :D].contiguous(), dv[..., :D].contiguous()
"""

right("tuned_backward", "one pass: dQ added through a descriptor, natural exponentials")(written(ONE))
wrong(
    "tuned_backward", "dQ is added into memory that nobody has cleared.", "uninitialised memory", "one edit"
)(edited(ONE, ("dq = torch.zeros(B, H, M, BD", "dq = torch.empty(B, H, M, BD")))
wrong("tuned_backward", "dQ is stored where it must be added.", "race")(
    edited(ONE, ("DQ.atomic_add(", "DQ.store("))
)
wrong("tuned_backward", "The tile that is added is in half precision, the sum in fp32.", "crashed")(
    edited(ONE, ("dq.reshape(1, 1, BM, BD))", "dq.to(k.dtype).reshape(1, 1, BM, BD))"))
)
