# label: right
# title: k loaded transposed

from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and all of K and V of its head; writes as many rows of O and of LSE
    # the grid is (blocks of queries, H, B); one of (blocks of queries, B · H) gives the same h and b
    h = (tl.program_id(1) % H).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = (tl.program_id(2) + tl.program_id(1) // H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q  # lse is contiguous, [B, H, S_q]

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    okq = rows < S_q
    okd = d < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=okq[:, None] & okd[None, :], other=0.0)
    run_max = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    run_sum = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        okk = j < S_k
        kt = tl.load(k_ptr + d[:, None] * k_col + j[None, :] * k_row, mask=okd[:, None] & okk[None, :], other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=okk[:, None] & okd[None, :], other=0.0)
        z = tl.dot(q, kt, input_precision="ieee") * alpha
        z = tl.where(okk[None, :], z, float("-inf"))
        new = tl.maximum(run_max, tl.max(z, axis=1))
        c = tl.exp(run_max - new)
        w = tl.exp(z - new[:, None])
        run_sum = run_sum * c + tl.sum(w, axis=1)
        out = out * c[:, None]
        out += tl.dot(w.to(v.dtype), v, input_precision="ieee")
        run_max = new
    out = out * (1.0 / run_sum)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=okq[:, None] & okd[None, :])
    tl.store(lse_ptr + rows, run_max + tl.log(run_sum), mask=okq)


# INCLUDE: _flash_forward
