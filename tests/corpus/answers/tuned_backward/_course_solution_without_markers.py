# part: a text that answers change

from torch import Tensor
from flashlearn.kernels.compiled_launches import Call
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, backward_shapes
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

PADDED = 128


@triton.jit
def delta_and_lse_kernel(
    o_ptr, do_ptr, lse_ptr, delta_ptr, lse2_ptr, H, S, S_PADDED, D,
    o_batch, o_head, o_row, o_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr,
):
    tiles = S_PADDED // BLOCK_Q
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    rows = tl.program_id(0) % tiles * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    o_ptr += bh // H * o_batch + bh % H * o_head
    do_ptr += bh // H * do_batch + bh % H * do_head
    in_tile = (rows < S)[:, None] & (d < D)[None, :]
    at = rows.to(tl.int64)[:, None]
    o = tl.load(o_ptr + at * o_row + d[None, :] * o_col, mask=in_tile, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at * do_row + d[None, :] * do_col, mask=in_tile, other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + bh * S + rows, mask=rows < S, other=-float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse)  # saw no key, or is none: P will be 0
    tl.store(delta_ptr + bh * S_PADDED + rows, tl.sum(o * do, axis=1))
    tl.store(lse2_ptr + bh * S_PADDED + rows, lse * 1.4426950408889634)  # log₂e


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
        whole = tl.maximum(first_column + BLOCK_K - 1 - shift, 0)  # from here on queries see all of it
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
    dk_desc.store([b, h_k, first_column, 0], (dk * alpha).to(dk_desc.dtype).reshape(1, 1, BLOCK_K, BLOCK_D))


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


def delta_and_lse(o: Tensor, do: Tensor, lse: Tensor) -> tuple[Tensor, Tensor]:
    """delta = Σ_d dO ∘ O, and LSE in base 2 (+inf where it was −inf), both [B·H, S_q padded] in fp32."""
    B, H, S_q, _ = o.shape
    padded = triton.cdiv(S_q, PADDED) * PADDED
    delta, lse2 = torch.empty((2, B * H, padded), dtype=torch.float32, device=o.device)
    call = delta_call(o, do, lse.contiguous(), delta, lse2)
    call.kernel[call.grid](*call.arguments, **call.constants, **call.options)
    return delta, lse2


def delta_call(o: Tensor, do: Tensor, lse: Tensor, delta: Tensor, lse2: Tensor) -> Call:
    """The launch that fills delta and lse2 [B·H, S_q padded]; lse is dense."""
    B, H, S_q, D = o.shape
    padded = delta.shape[1]
    arguments = (o, do, lse, delta, lse2, H, S_q, padded, D, *o.stride(), *do.stride())
    constants = {"BLOCK_Q": 16, "BLOCK_D": triton.next_power_of_2(D)}
    grid = (padded // 16 * B * H,)
    # one warp: a row's sum stays within it
    return Call(delta_and_lse_kernel, grid, arguments, constants, {"num_warps": 1})


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
