# label: wrong
# title: delta broadcast as numpy does
# says: the line `ds = p * (dp - delta_i)` leaves out [:, None]: as in NumPy, delta is broadcast along the
#   last axis, so key j of the tile gets the delta of query j of the block.
# names: delta along the keys

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and dO and all of K and V of its head; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    queries_in = rows < S_q
    lanes_in = d < D
    both = queries_in[:, None] & lanes_in[None, :]
    qi = tl.load(q_ptr + (rows[:, None] * q_row + d[None, :] * q_col), mask=both, other=0.0)
    doi = tl.load(do_ptr + (rows[:, None] * do_row + d[None, :] * do_col), mask=both, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=queries_in, other=0.0)
    delta_i = tl.load(delta_ptr + rows, mask=queries_in, other=0.0)
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)

    for t in range(0, tl.cdiv(S_k, BLOCK_K)):
        j = t * BLOCK_K + keys
        inside = (j < S_k)[:, None] & lanes_in[None, :]
        kj = tl.load(k_ptr + (j[:, None] * k_row + d[None, :] * k_col), mask=inside, other=0.0)
        vj = tl.load(v_ptr + (j[:, None] * v_row + d[None, :] * v_col), mask=inside, other=0.0)
        s = alpha * tl.dot(qi, kj.T, input_precision="ieee")
        p = tl.where((j < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)
        dp = tl.dot(doi, vj.T, input_precision="ieee")
        ds = p * (dp - delta_i)
        grad = tl.dot(ds.to(kj.dtype), kj, acc=grad, input_precision="ieee")

    grad = grad * alpha
    tl.store(dq_ptr + (rows[:, None] * dq_row + d[None, :] * dq_col), grad.to(dq_ptr.dtype.element_ty), mask=both)


# INCLUDE: _dq_kernel
