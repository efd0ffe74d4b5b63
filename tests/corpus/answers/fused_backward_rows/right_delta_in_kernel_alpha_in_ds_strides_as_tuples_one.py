# label: right
# title: delta in the kernel, alpha in dS, strides as tuples, one buffer for both sums

@triton.jit
def _delta_inside_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, lse_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, H, N, M, D,
    sq, sk, sv, so, sdo,
    BLOCK: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr,
):
    i, bh = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    r = i * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BD)
    mine = (r[:, None] < N) & (d[None, :] < D)
    q = tl.load(q_ptr + b * sq[0] + h * sq[1] + r[:, None] * sq[2] + d[None, :] * sq[3], mask=mine, other=0.)
    o = tl.load(o_ptr + b * so[0] + h * so[1] + r[:, None] * so[2] + d[None, :] * so[3], mask=mine, other=0.)
    do = tl.load(do_ptr + b * sdo[0] + h * sdo[1] + r[:, None] * sdo[2] + d[None, :] * sdo[3], mask=mine, other=0.)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), 1)
    lse = tl.load(lse_ptr + bh * N + r, mask=r < N, other=0.)
    acc = tl.zeros((BLOCK, BD), tl.float32)
    for j in range(0, tl.cdiv(M, BLOCK)):
        c = j * BLOCK + tl.arange(0, BLOCK)
        ok = (r[:, None] < N) & (c[None, :] < M)
        visit = True
        if CAUSAL:
            ok = ok & (c[None, :] <= r[:, None] + M - N)
            visit = j * BLOCK < (i + 1) * BLOCK + M - N
        if visit:
            theirs = (c[:, None] < M) & (d[None, :] < D)
            k = tl.load(k_ptr + b * sk[0] + h * sk[1] + c[:, None] * sk[2] + d[None, :] * sk[3], mask=theirs, other=0.)
            v = tl.load(v_ptr + b * sv[0] + h * sv[1] + c[:, None] * sv[2] + d[None, :] * sv[3], mask=theirs, other=0.)
            s = tl.where(ok, tl.dot(q, k.T, input_precision="ieee") * alpha - lse[:, None], -1e30)
            p = tl.exp(s)
            ds = alpha * p * (tl.dot(do, v.T, input_precision="ieee") - delta[:, None])
            acc += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
            at = bh * M * D + c[:, None] * D + d[None, :]
            tl.atomic_add(dk_ptr + at, tl.dot(ds.T.to(q.dtype), q, input_precision="ieee"), mask=theirs)
            tl.atomic_add(dv_ptr + at, tl.dot(p.T.to(do.dtype), do, input_precision="ieee"), mask=theirs)
    tl.store(dq_ptr + bh * N * D + r[:, None] * D + d[None, :], acc, mask=mine)


def delta_inside(q, k, v, o, do, lse, alpha, causal):
    B, H, N, D = q.shape
    M = k.shape[2]
    dq = torch.empty(B, H, N, D, dtype=q.dtype, device=q.device)
    sums = q.new_zeros((2, B, H, M, D), dtype=torch.float32)
    _delta_inside_kernel[B * H, triton.cdiv(N, 32)](
        q, k, v, o, do, lse.contiguous(), dq, sums[0], sums[1], alpha, H, N, M, D,
        q.stride(), k.stride(), v.stride(), o.stride(), do.stride(),
        BLOCK=32, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal,
    )
    dk, dv = sums.to(k.dtype)
    return dq, dk, dv
