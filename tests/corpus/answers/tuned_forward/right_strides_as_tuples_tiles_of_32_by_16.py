# label: right
# title: strides as tuples, tiles of 32 × 16

@triton.jit
def fwd_tile(q, kp, vp, at_k, at_v, live, m, l, acc, j0, cols, last, N, c, MASK: tl.constexpr):
    j = j0 + cols
    ok = live[None, :] & (j < N)[:, None] if MASK else live[None, :] & (j >= 0)[:, None]
    k = tl.load(kp + at_k, mask=ok, other=0.0)
    v = tl.load(vp + at_v, mask=ok, other=0.0)
    x = tl.dot(q, tl.trans(k), input_precision="ieee")
    if MASK:
        x = tl.where(j[None, :] <= last[:, None], x, float("-inf"))
    top = tl.maximum(m, tl.max(x, 1))
    shift = top * c
    if MASK:
        shift = tl.where(top == float("-inf"), 0.0, shift)
    f = tl.exp2(m * c - shift)
    p = tl.exp2(x * c - shift[:, None])
    l = l * f + tl.sum(p, 1)
    acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    return top, l, acc


@triton.jit
def fwd_kernel(Q, K, V, O, L, alpha, B, H, G, M, N, D, sq, sk, sv, so,
               CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    pid = tl.program_id(0)
    block = tl.cdiv(M, BM) - 1 - pid // (B * H)
    b, h = (pid % (B * H) // H).to(tl.int64), (pid % H).to(tl.int64)
    hk = h // G
    Q += b * sq[0] + h * sq[1]
    K += b * sk[0] + hk * sk[1]
    V += b * sv[0] + hk * sv[1]
    O += b * so[0] + h * so[1]
    L += (b * H + h) * M
    first = block * BM
    rows, cols, d = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BD)
    live = d < D
    mine = (rows < M)[:, None] & live[None, :]
    q = tl.load(Q + rows[:, None] * sq[2] + d[None, :] * sq[3], mask=mine, other=0.0)
    q = tl.where(alpha < 0, -q, q)
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
    at_k, at_v = cols[:, None] * sk[2] + d[None, :] * sk[3], cols[:, None] * sv[2] + d[None, :] * sv[3]
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    seen, end = N, N
    last = tl.zeros((BM,), tl.int32) + N - 1
    if CAUSAL:
        seen = tl.maximum(0, tl.minimum(N, first + 1 + N - M))
        end = tl.maximum(0, tl.minimum(N, first + BM + N - M))
        last = tl.minimum(rows + N - M, N - 1)
    whole = seen // BN * BN
    for j0 in range(0, whole, BN):
        step = j0.to(tl.int64)
        m, l, acc = fwd_tile(q, K + step * sk[2], V + step * sv[2], at_k, at_v, live, m, l, acc,
                             j0, cols, last, N, c, False)
    for j0 in range(whole, end, BN):
        step = j0.to(tl.int64)
        m, l, acc = fwd_tile(q, K + step * sk[2], V + step * sv[2], at_k, at_v, live, m, l, acc,
                             j0, cols, last, N, c, True)
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(O + rows[:, None] * so[2] + d[None, :] * so[3], o.to(O.dtype.element_ty), mask=mine)
    lse = tl.where(l == 0.0, float("-inf"), m * c * 0.6931471805599453 + tl.log(l))
    tl.store(L + rows, lse, mask=rows < M)


def fast(q, k, v, causal, alpha):
    B, H, M, D = q.shape
    N, G = k.shape[2], H // k.shape[1]
    o = torch.empty(B, H, M, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    BM, BN = 32, 16
    fwd_kernel[(triton.cdiv(M, BM) * B * H,)](
        q, k, v, o, lse, alpha, B, H, G, M, N, D, q.stride(), k.stride(), v.stride(), o.stride(),
        CAUSAL=causal, BM=BM, BN=BN, BD=max(16, triton.next_power_of_2(D)), num_warps=4)
    return o, lse
