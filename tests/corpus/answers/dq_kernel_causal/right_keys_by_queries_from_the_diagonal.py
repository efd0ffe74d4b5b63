# label: right
# title: keys by queries from the diagonal

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_in, d_in = rows < S_q, d < D
    t_in = d_in[:, None] & q_in[None, :]  # transposed: lanes down, queries across
    qT = tl.load(q_ptr + d[:, None] * q_col + rows[None, :] * q_row, mask=t_in, other=0.0)
    doT = tl.load(do_ptr + d[:, None] * do_col + rows[None, :] * do_row, mask=t_in, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=q_in, other=float("inf"))
    lse_i = tl.where(lse_i == float("-inf"), float("inf"), lse_i)
    delta_i = tl.load(delta_ptr + rows, mask=q_in, other=0.0)

    offset = S_k - S_q
    seen_by_last = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + offset)
    tiles = tl.cdiv(tl.maximum(seen_by_last, 0), BLOCK_K)
    dqT = tl.zeros((BLOCK_D, BLOCK_Q), tl.float32)
    for step in range(0, tiles):
        j = (tiles - 1 - step) * BLOCK_K + keys
        kv_in = (j < S_k)[:, None] & d_in[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=kv_in, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=kv_in, other=0.0)
        sT = alpha * tl.dot(k, qT, input_precision="ieee")  # (BLOCK_K, BLOCK_Q)
        hidden = (j[:, None] >= S_k) | (j[:, None] > rows[None, :] + offset)
        pT = tl.exp(tl.where(hidden, float("-inf"), sT) - lse_i[None, :])
        dpT = tl.dot(v, doT, input_precision="ieee")
        dsT = pT * (dpT - delta_i[None, :])
        dqT = tl.dot(tl.trans(k), dsT.to(k.dtype), acc=dqT, input_precision="ieee")
    dqT = dqT * alpha
    tl.store(
        dq_ptr + d[:, None] * dq_col + rows[None, :] * dq_row, dqT.to(dq_ptr.dtype.element_ty), mask=t_in
    )


# INCLUDE: _dq_kernel_causal
