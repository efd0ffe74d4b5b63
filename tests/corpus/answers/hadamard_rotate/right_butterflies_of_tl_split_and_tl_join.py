# label: right
# title: butterflies of tl.split and tl.join

@triton.jit
def step_kernel(X, G, Y, M, sm, sn, D: tl.constexpr, BM: tl.constexpr, STEPS: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    ok = (i < M)[:, None]
    y = tl.load(X + i[:, None] * sm + d[None, :] * sn, mask=ok, other=0).to(tl.float32) * tl.load(G + d)[None, :]
    for k in tl.static_range(STEPS):
        pairs = y.reshape(BM, D >> (k + 1), 2, 1 << k).permute(0, 1, 3, 2)
        a, b = tl.split(pairs)
        y = tl.join(a + b, a - b).permute(0, 1, 3, 2).reshape(BM, D)
    tl.store(Y + i[:, None] * D + d[None, :], (y * D ** -0.5).to(Y.dtype.element_ty), mask=ok)


def butterflies(x, signs):
    M, D = x.shape
    y = torch.empty(M, D, dtype=x.dtype, device=x.device)
    step_kernel[(triton.cdiv(M, 16),)](x, signs, y, M, *x.stride(), D=D, BM=16, STEPS=D.bit_length() - 1)
    return y
