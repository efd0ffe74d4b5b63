# label: wrong
# title: delta of dp
# says: `delta += tl.sum(dprob, axis=1)` sums dP without the weight P; it must be Σ P dP.
# names: first divergence

from torch import Tensor


@triton.jit
def dq_without_delta_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and dO, and all of K and V of its head once; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    okq, okd = rows < S_q, d < D
    block = okq[:, None] & okd[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=block, other=0.0)
    g = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=block, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=okq, other=0.0)
    delta = tl.zeros((BLOCK_Q,), tl.float32)
    mean = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    total = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        tile = okk[:, None] & okd[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=tile, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=tile, other=0.0)
        z = tl.dot(q, k.T, input_precision="ieee") * alpha
        prob = tl.where(okk[None, :], tl.exp(z - lse[:, None]), 0.0)
        dprob = tl.dot(g, v.T, input_precision="ieee")
        dz = prob * dprob
        delta += tl.sum(dprob, axis=1)
        mean += tl.dot(prob.to(k.dtype), k, input_precision="ieee")
        total += tl.dot(dz.to(k.dtype), k, input_precision="ieee")
    total = (total - delta[:, None] * mean) * alpha
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, total.to(dq_ptr.dtype.element_ty), mask=block)


# INCLUDE: _dq_without_delta
