# label: wrong
# title: head without its blocks
# says: `shares_ptr += head * S_q * D` in the sum forgets that a head has `blocks` parts; with more than one
#   head it reads other heads' shares
# names: some heads

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
    # reads what fused_keys_kernel reads; writes S_q · D numbers of fp32 that nobody else writes
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

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    part = (head * tl.num_programs(0) + tl.program_id(0)) * S_q * D
    in_block = (columns < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    start_at = 0
    if IS_CAUSAL:
        start_at = tl.maximum(0, tl.program_id(0) * BLOCK_K - S_k + S_q) // BLOCK_Q * BLOCK_Q
    for start in range(start_at, S_q, BLOCK_Q):
        i = start + queries
        in_tile = (i < S_q)[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + i[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + i[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse = tl.load(lse_ptr + i, mask=i < S_q, other=float("inf"))
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        delta = tl.load(delta_ptr + i, mask=i < S_q, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = (columns < S_k)[None, :]
        if IS_CAUSAL:
            seen = seen & (columns[None, :] <= i[:, None] + S_k - S_q)
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        ds = (p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])).to(q.dtype)
        dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
        dq_share = alpha * tl.dot(ds, k, input_precision="ieee")
        tl.store(shares_ptr + part + i[:, None] * D + d[None, :], dq_share, mask=in_tile)
    out = columns[:, None] * D + d[None, :]
    tl.store(dk_ptr + out, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + out, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


@triton.jit
def sum_of_shares_kernel(
    shares_ptr, dq_ptr, S_q, S_k, D,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):
    # reads the shares of BLOCK_Q rows of dQ, in the order of their keys; writes the rows once
    head = tl.program_id(2).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    dq_tile = rows[:, None] * D + d[None, :]
    shares_ptr += head * S_q * D
    in_block = (rows < S_q)[:, None] & (d < D)[None, :]
    n = tl.cdiv(S_k, BLOCK_K)
    if IS_CAUSAL:
        n = tl.minimum(n, tl.cdiv(tl.maximum(0, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q), BLOCK_K))
    total = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for _ in range(0, n):
        total += tl.load(shares_ptr + dq_tile, mask=in_block, other=0.0)
        shares_ptr += S_q * D
    tl.store(dq_ptr + head * S_q * D + dq_tile, total.to(dq_ptr.dtype.element_ty), mask=in_block)


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
    blocks = triton.cdiv(S_k, BLOCK)
    shares = torch.empty(B, H, blocks, S_q, D, dtype=torch.float32, device=q.device)
    shares_kernel[(blocks, H, B)](
        q, k, v, do, lse.contiguous(), delta, shares, dk, dv, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), **tile, IS_CAUSAL=causal, num_warps=8, num_stages=1,
    )
    sum_of_shares_kernel[(triton.cdiv(S_q, BLOCK), H, B)](shares, dq, S_q, S_k, D, **tile, IS_CAUSAL=causal)
    return dq, dk, dv
