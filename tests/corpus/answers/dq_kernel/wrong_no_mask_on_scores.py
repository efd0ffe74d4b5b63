# label: wrong
# title: no mask on scores
# says: the mask of s is missing: a padded key has score 0 and P = exp(-lse), infinite where LSE is near -120,
#   and inf * 0 is NaN
# names: padded keys get a probability

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_in = qi < S_q
    in_d = d < D
    in_block = q_in[:, None] & in_d[None, :]
    q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + qi, mask=q_in, other=0.0)
    dl = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        g = p * (dp - dl[:, None])
        grad += tl.dot(g.to(k.dtype), k, input_precision="ieee")
    grad *= alpha
    dq_tile = qi[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, grad.to(dq_ptr.dtype.element_ty), mask=in_block)


def dq_kernel(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype; o and lse are what the forward pass returned."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    grad = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, grad, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *grad.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return grad
