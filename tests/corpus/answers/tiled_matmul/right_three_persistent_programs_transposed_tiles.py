# label: right
# title: three persistent programs, transposed tiles

@triton.jit
def mm_transposed(a_ptr, b_ptr, c_ptr, M, N, K, a0, a1, b0, b1, c0, c1, SIZE: tl.constexpr):
    # Cᵀ = Bᵀ Aᵀ, tile by tile, by a few programs that take turns
    across = tl.cdiv(N, SIZE)
    for tile in range(tl.program_id(0), across * tl.cdiv(M, SIZE), tl.num_programs(0)):
        m = tile // across * SIZE + tl.arange(0, SIZE)
        n = tile % across * SIZE + tl.arange(0, SIZE)
        accT = tl.zeros((SIZE, SIZE), tl.float32)
        for k0 in range(0, K, SIZE):
            k = k0 + tl.arange(0, SIZE)
            in_k = k < K
            aT = tl.load(a_ptr + m[None, :] * a0 + k[:, None] * a1, (m < M)[None, :] & in_k[:, None], other=0)
            bT = tl.load(b_ptr + k[None, :] * b0 + n[:, None] * b1, in_k[None, :] & (n < N)[:, None], other=0)
            accT += tl.dot(bT, aT, input_precision="ieee")
        keep = (m[:, None] < M) & (n[None, :] < N)
        tl.store(c_ptr + m[:, None] * c0 + n[None, :] * c1, tl.trans(accT), mask=keep)


def tiled_matmul(a, b):
    c = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    mm_transposed[(3,)](a, b, c, *c.shape, a.shape[1], *a.stride(), *b.stride(), *c.stride(), SIZE=16)
    return c
