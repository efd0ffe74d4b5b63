# label: wrong
# title: last block of keys unmasked
# says: line if CAUSAL: in tuned_dq_kernel: the masked scan runs only under a causal mask, so a ragged last
#   block of keys is skipped without one
# names: last tile missing

from torch import Tensor
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, backward_shapes
from flashlearn.kernels.tuned_backward import delta_and_lse
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits
from flashlearn.machine import device


H100 = device.GPUS["H100"]


@triton.jit
def scan_queries(
    dk, dv, k, v, q_desc, do_desc, lse_ptr, delta_ptr, scale, b, h, first, end, columns, shift,
    MASKED: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
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
        first = tl.maximum(first_column - shift, 0) // BLOCK_Q * BLOCK_Q
        whole = tl.maximum(first_column + BLOCK_K - 1 - shift, 0)
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
    if CAUSAL:
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
    scanned = 2 * D * q.element_size()
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
