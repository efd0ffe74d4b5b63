# label: wrong
# title: atomic_add into torch.empty, per tile
# says: The programs add to memory that nobody has set to zero.
# names: uninitialised memory

@triton.jit
def colsum_atomic(g, acc, M, N, g_i, g_j, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    ok = (i < M)[:, None] & (j < N)[None, :]
    tile = tl.load(g + i[:, None] * g_i + j[None, :] * g_j, mask=ok, other=0.0).to(tl.float32)
    tl.atomic_add(acc + j, tl.sum(tile, axis=0), mask=j < N)


def launcher(dy):
    M, N = dy.shape
    acc = torch.empty(N, dtype=torch.float32, device=dy.device)
    colsum_atomic[(triton.cdiv(M, 32), triton.cdiv(N, 32))](dy, acc, M, N, dy.stride(0), dy.stride(1), T=32)
    return acc.to(dy.dtype)
