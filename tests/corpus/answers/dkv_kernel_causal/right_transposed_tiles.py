# label: right
# title: transposed tiles

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    j = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    mine = (j[:, None] < S_k) & (d[None, :] < D)
    k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=mine, other=0.0)
    v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=mine, other=0.0)
    into_k = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    into_v = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)

    # (keys, queries) throughout, so that the sums over queries are plain products
    earliest = tl.maximum(tl.program_id(0) * BLOCK_K + S_q - S_k, 0)
    for tile in range(earliest // BLOCK_Q, tl.cdiv(S_q, BLOCK_Q)):
        i = tile * BLOCK_Q + tl.arange(0, BLOCK_Q)
        there = (i[:, None] < S_q) & (d[None, :] < D)
        q = tl.load(q_ptr + i[:, None] * q_row + d[None, :] * q_col, mask=there, other=0.0)
        do = tl.load(do_ptr + i[:, None] * do_row + d[None, :] * do_col, mask=there, other=0.0)
        lse = tl.load(lse_ptr + i, mask=i < S_q, other=0.0)
        delta = tl.load(delta_ptr + i, mask=i < S_q, other=0.0)
        st = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")
        pair = (j[:, None] + S_q <= i[None, :] + S_k) & (i[None, :] < S_q)
        # a blind query (lse = -inf) has no pair at all: its exp is inf, and where() does not take it
        pt = tl.where(pair, tl.exp(st - lse[None, :]), 0.0)
        dpt = tl.dot(v, tl.trans(do), input_precision="ieee")
        dst = pt * dpt - pt * delta[None, :]
        into_v = tl.dot(pt.to(do.dtype), do, into_v, input_precision="ieee")
        into_k = tl.dot(dst.to(q.dtype), q, into_k, input_precision="ieee")

    tl.store(dv_ptr + j[:, None] * dv_row + d[None, :] * dv_col, into_v.to(dv_ptr.dtype.element_ty), mask=mine)
    tl.store(dk_ptr + j[:, None] * dk_row + d[None, :] * dk_col, (into_k * alpha).to(dk_ptr.dtype.element_ty), mask=mine)


def dkv_kernel_causal(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The same where query i saw the keys j ≤ i + S_k − S_q, some of them none (there LSE is −inf)."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)  # one number per query, before the loop that needs it
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    STAGES = 2
    flash_dkv_causal_kernel[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=max(16, BLOCK // 2), BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dk, dv
