# label: right
# title: two passes, Q scaled beforehand, −1e30 as filler, contiguous copies, the second pass backwards

@triton.jit
def load_2d(base, row, col, n_rows, n_cols, s_row, s_col):
    inside = (row[:, None] < n_rows) & (col[None, :] < n_cols)
    return tl.load(base + row[:, None] * s_row + col[None, :] * s_col, mask=inside, other=0.0)


@triton.jit
def two_pass_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, Nq, Nk, D, BLOCK: tl.constexpr, BD: tl.constexpr
):
    # first pass: the maximum; second pass: everything else. Nothing to rescale.
    head = tl.program_id(0)
    q_ptr += head * Nq * D
    k_ptr += head * Nk * D
    v_ptr += head * Nk * D
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BD)
    q = load_2d(q_ptr, i, d, Nq, D, D, 1).to(tl.float32) * alpha
    biggest = tl.full((BLOCK,), -1e30, tl.float32)
    for t in range(tl.cdiv(Nk, BLOCK)):
        j = t * BLOCK + tl.arange(0, BLOCK)
        k = load_2d(k_ptr, j, d, Nk, D, D, 1).to(tl.float32)
        s = tl.where(j[None, :] < Nk, tl.dot(q, tl.trans(k), input_precision="ieee"), -1e30)
        biggest = tl.maximum(biggest, tl.max(s, 1))
    total = tl.zeros((BLOCK,), tl.float32)
    o = tl.zeros((BLOCK, BD), tl.float32)
    for t in range(tl.cdiv(Nk, BLOCK) - 1, -1, -1):  # and back again
        j = t * BLOCK + tl.arange(0, BLOCK)
        k = load_2d(k_ptr, j, d, Nk, D, D, 1).to(tl.float32)
        v = load_2d(v_ptr, j, d, Nk, D, D, 1).to(tl.float32)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.where(j[None, :] < Nk, tl.exp(s - biggest[:, None]), 0.0)
        total += tl.sum(p, 1)
        o += tl.dot(p, v, input_precision="ieee")
    ok = i < Nq
    o_ptr += head * Nq * D
    tl.store(o_ptr + i[:, None] * D + d[None, :], o / total[:, None], mask=ok[:, None] & (d < D)[None, :])
    tl.store(lse_ptr + head * Nq + i, biggest + tl.log(total), mask=ok)


def two_passes(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, Nq, D = q.shape
    o = torch.empty_like(q)
    lse = torch.empty(B, H, Nq)
    grid = (B * H, triton.cdiv(Nq, 32))
    BD = max(16, triton.next_power_of_2(D))
    two_pass_kernel[grid](q, k, v, o, lse, alpha, Nq, k.shape[2], D, BLOCK=32, BD=BD)
    return o, lse
