# label: right
# title: tensor descriptors of padded copies, fused multiply-adds by name

@triton.jit
def td_kernel(Q, K, V, O, L, alpha, H, G, M, N, CAUSAL: tl.constexpr,
              BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM
    b, h = tl.program_id(1) // H, tl.program_id(1) % H
    rows, cols = first + tl.arange(0, BM), tl.arange(0, BN)
    q = Q.load([b, h, first, 0]).reshape(BM, BD)
    q = tl.where(alpha < 0, -q, q)
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    end = tl.minimum(N, first + BM + N - M) if CAUSAL else N
    for j0 in tl.range(0, end, BN, num_stages=2):
        k = K.load([b, h // G, j0, 0]).reshape(BN, BD)
        v = V.load([b, h // G, j0, 0]).reshape(BN, BD)
        x = tl.dot(q, k.T, input_precision="ieee")
        seen = (j0 + cols < N)[None, :]
        if CAUSAL:
            seen = seen & ((j0 + cols)[None, :] <= rows[:, None] + N - M)
        x = tl.where(seen, x, float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        shift = tl.where(top == float("-inf"), 0.0, top * c)
        f = tl.math.exp2(tl.fma(m, c, -shift))
        p = tl.math.exp2(tl.fma(x, c, -shift[:, None]))
        l = l * f + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * f[:, None], input_precision="ieee")
        m = top
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    O.store([b, h, first, 0], o.to(O.dtype).reshape(1, 1, BM, BD))
    lse = tl.where(l == 0.0, float("-inf"), m * c / 1.4426950408889634 + tl.log(l))
    tl.store(L + tl.program_id(1).to(tl.int64) * M + rows, lse, mask=rows < M)


def through_descriptors(q, k, v, causal, alpha):
    B, H, M, D = q.shape
    G, N, BD = H // k.shape[1], k.shape[2], max(16, triton.next_power_of_2(D))
    q, k, v = (torch.nn.functional.pad(t, (0, BD - D)).contiguous() for t in (q, k, v))
    o = torch.empty(B, H, M, BD, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    BM, BN = 64, 32
    described = [TensorDescriptor.from_tensor(t, [1, 1, n, BD]) for t, n in ((q, BM), (k, BN), (v, BN), (o, BM))]
    td_kernel[(triton.cdiv(M, BM), B * H)](*described, lse, alpha, H, G, M, N, CAUSAL=causal, BM=BM, BN=BN, BD=BD)
    return o[..., :D].contiguous(), lse
