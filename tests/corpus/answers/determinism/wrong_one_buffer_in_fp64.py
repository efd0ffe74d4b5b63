# label: wrong
# title: one buffer in fp64
# says: `tl.atomic_add(... share.to(tl.float64))` adds all shares to one buffer in fp64: more digits, but
#   still in the order in which programs come, so bits differ where terms cancel.
# names: review

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.reach import refuse_far_rows


@triton.jit
def shares_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, shares_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    head = b * tl.num_programs(1) + h
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += head * S_q
    delta_ptr += head * S_q
    dk_ptr += head * S_k * D
    dv_ptr += head * S_k * D
    shares_ptr += head * S_q * D

    cols = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    real_k = cols < S_k
    own = real_k[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=own, other=0.0)
    v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=own, other=0.0)
    acc_k = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    acc_v = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    shift = S_k - S_q
    begin = 0
    if IS_CAUSAL:
        begin = (tl.maximum(tl.program_id(0) * BLOCK_K - shift, 0) // BLOCK_Q) * BLOCK_Q
    for start in range(begin, S_q, BLOCK_Q):
        rows = start + tl.arange(0, BLOCK_Q)
        real_q = rows < S_q
        tile = real_q[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=tile, other=0.0)
        lse = tl.load(lse_ptr + rows, mask=real_q, other=float("inf"))
        delta = tl.load(delta_ptr + rows, mask=real_q, other=0.0)
        keep = real_q[:, None] & real_k[None, :] & (lse > -float("inf"))[:, None]
        if IS_CAUSAL:
            keep = keep & (cols[None, :] <= (rows + shift)[:, None])
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.where(keep, tl.exp(s - lse[:, None]), 0.0)
        acc_v += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        ds = ds.to(q.dtype)
        acc_k += tl.dot(tl.trans(ds), q, input_precision="ieee")
        share = alpha * tl.dot(ds, k, input_precision="ieee")
        tl.atomic_add(shares_ptr + rows[:, None] * D + d[None, :], share.to(tl.float64), mask=tile)
    out = cols[:, None] * D + d[None, :]
    tl.store(dk_ptr + out, (acc_k * alpha).to(dk_ptr.dtype.element_ty), mask=own)
    tl.store(dv_ptr + out, acc_v.to(dv_ptr.dtype.element_ty), mask=own)


@triton.jit
def sum_of_shares_kernel(
    shares_ptr, dq_ptr, S_q, S_k, D,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):
    head = tl.program_id(2).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    at = head * S_q * D + rows[:, None] * D + d[None, :]
    ok = (rows < S_q)[:, None] & (d < D)[None, :]
    total = tl.load(shares_ptr + at, mask=ok, other=0.0)
    tl.store(dq_ptr + at, total.to(tl.float32).to(dq_ptr.dtype.element_ty), mask=ok)


def determinism(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool,
    block: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK, dV, each in its input's dtype, bit for bit the same whatever order the programs run in."""
    refuse_far_rows(q=q, k=k, v=v, do=do)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    half = q.element_size() == 2
    BLOCK = block or (64 if q.is_cuda and half else 32)
    tile = {"BLOCK_Q": BLOCK, "BLOCK_K": BLOCK, "BLOCK_D": max(16, triton.next_power_of_2(D))}
    # fp64 has 29 bits more than fp32: the order cannot be seen any more
    shares = torch.zeros((B, H, S_q, D), dtype=torch.float64, device=q.device)
    shares_kernel[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, shares, dk, dv, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        **tile, IS_CAUSAL=causal,
        num_warps=4 if half and tile["BLOCK_D"] <= 64 else 8, num_stages=3 if half else 1,
    )
    # on one stream a launch waits for the one before: every share is there when the sum begins
    sum_of_shares_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        shares, dq, S_q, S_k, D, **tile, IS_CAUSAL=causal
    )
    return dq, dk, dv
