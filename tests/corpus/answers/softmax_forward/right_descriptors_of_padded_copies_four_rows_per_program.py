# label: right
# title: descriptors of padded copies, four rows per program

@triton.jit
def _descriptor_rows(x, y, N, BM: tl.constexpr, BN: tl.constexpr):
    first = tl.program_id(0) * BM
    s = x.load([first, 0]).to(tl.float32)
    s = tl.where(tl.arange(0, BN)[None, :] < N, s, -float("inf"))
    e = tl.exp(s - tl.max(s, 1)[:, None])
    y.store([first, 0], (e / tl.sum(e, 1)[:, None]).to(y.dtype))


def through_descriptors(s):
    M, N = s.shape
    BN = max(16, triton.next_power_of_2(N))
    padded, out = (torch.zeros(M, -(-N // 16) * 16, dtype=s.dtype) for _ in range(2))
    padded[:, :N] = s
    x, y = (TensorDescriptor.from_tensor(t, [4, BN]) for t in (padded, out))
    _descriptor_rows[(triton.cdiv(M, 4),)](x, y, N, BM=4, BN=BN)
    return out[:, :N].contiguous()
