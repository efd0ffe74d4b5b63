# label: right
# title: tiles transposed (K Qᵀ, reductions over axis 0), 16 × 64, a 3-D grid

@triton.jit
def load_2d(base, row, col, n_rows, n_cols, s_row, s_col):
    inside = (row[:, None] < n_rows) & (col[None, :] < n_cols)
    return tl.load(base + row[:, None] * s_row + col[None, :] * s_col, mask=inside, other=0.0)


@triton.jit
def transposed_kernel(
    q, k, v, out, lse, scale, n_heads, Sq, Sk, D,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    # keys are the rows here: st[j, i] = k_j · q_i, and everything is reduced over axis 0
    pid, h, b = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    qi = pid * BQ + tl.arange(0, BQ)
    dd = tl.arange(0, BD)
    qt = load_2d(q + b * qb + h * qh, qi, dd, Sq, D, qs, qd)
    running_max = tl.full([BQ], float("-inf"), tl.float32)
    denom = tl.zeros([BQ], tl.float32)
    numer = tl.zeros([BD, BQ], tl.float32)
    for j0 in range(0, Sk, BK):
        kj = j0 + tl.arange(0, BK)
        kt = load_2d(k + b * kb + h * kh, kj, dd, Sk, D, ks, kd)
        vt = load_2d(v + b * vb + h * vh, kj, dd, Sk, D, vs, vd)
        st = tl.dot(kt, tl.trans(qt), input_precision="ieee") * scale  # (BK, BQ)
        st = tl.where(kj[:, None] < Sk, st, float("-inf"))
        new_max = tl.maximum(running_max, tl.max(st, axis=0))
        correction = tl.exp(running_max - new_max)
        pt = tl.exp(st - new_max[None, :])
        denom = denom * correction + tl.sum(pt, axis=0)
        numer = numer * correction[None, :] + tl.dot(tl.trans(vt), pt.to(vt.dtype), input_precision="ieee")
        running_max = new_max
    result = tl.trans(numer / denom[None, :])
    row = (b * n_heads + h) * Sq + qi
    tl.store(out + row[:, None] * D + dd[None, :], result, mask=(qi[:, None] < Sq) & (dd[None, :] < D))
    tl.store(lse + row, running_max + tl.log(denom), mask=qi < Sq)


def keys_as_rows(q, k, v, alpha):
    B, H, Sq, D = q.shape
    out = q.new_empty(B, H, Sq, D)
    lse = q.new_empty(B, H, Sq, dtype=torch.float32)
    transposed_kernel[(triton.cdiv(Sq, 16), H, B)](
        q, k, v, out, lse, alpha, H, Sq, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(),
        BQ=16, BK=64, BD=max(16, triton.next_power_of_2(D)),
    )
    return out, lse
