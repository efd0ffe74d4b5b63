# label: wrong
# title: loop end without the shift
# says: `hi = tl.minimum((pid + 1) * BM, S_k)` leaves out S_k - S_q, though the mask has it. For more keys
#   than queries (S_q 40, S_k 70) the loop ends before the last visible keys and their share of dQ is missing.
# names: loop end without S_k − S_q

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dq_causal(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    pid = tl.program_id(0)
    hz = tl.program_id(1).to(tl.int64)
    b = hz // H
    h = hz - b * H
    m = pid.to(tl.int64) * BM + tl.arange(0, BM)
    e = tl.arange(0, BD)
    ok = (m < S_q)[:, None] & (e < D)[None, :]
    q = tl.load(
        q_ptr + (b * q_batch + h * q_head) + m[:, None] * q_row + e[None, :] * q_col, mask=ok, other=0.0
    )
    do = tl.load(
        do_ptr + (b * do_batch + h * do_head) + m[:, None] * do_row + e[None, :] * do_col,
        mask=ok, other=0.0
    )
    lse = tl.load(lse_ptr + hz * S_q + m, mask=m < S_q, other=0.0)
    lse = tl.where(lse == float("-inf"), float("inf"), lse)
    delta = tl.load(delta_ptr + hz * S_q + m, mask=m < S_q, other=0.0)
    kp = k_ptr + (b * k_batch + h * k_head)
    vp = v_ptr + (b * v_batch + h * v_head)
    dq = tl.zeros((BM, BD), tl.float32)
    hi = tl.minimum((pid + 1) * BM, S_k)
    for lo in range(0, hi, BN):
        n = lo + tl.arange(0, BN).to(tl.int64)
        kv_ok = (n < S_k)[:, None] & (e < D)[None, :]
        k = tl.load(kp + n[:, None] * k_row + e[None, :] * k_col, mask=kv_ok, other=0.0)
        v = tl.load(vp + n[:, None] * v_row + e[None, :] * v_col, mask=kv_ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        seen = (n[None, :] <= m[:, None] + S_k - S_q) & (n[None, :] < S_k)
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, acc=dq, input_precision="ieee")
    dq = alpha * dq
    tl.store(dq_ptr + (b * dq_batch + h * dq_head) + m[:, None] * dq_row + e[None, :] * dq_col,
             dq.to(dq_ptr.dtype.element_ty), mask=ok)

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    W = block or 32
    dq_causal[(triton.cdiv(S_q, W), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BM=W, BN=W, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
