# label: right
# title: two rows per program, powers of two

@triton.jit
def softmax_rows(x_ptr, y_ptr, M, N, sxm, sxn, sym, syn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    keep = (m[:, None] < M) & (n[None, :] < N)
    x = tl.load(x_ptr + m[:, None] * sxm + n[None, :] * sxn, mask=keep, other=float("-inf")).to(tl.float32)
    x = tl.where(m[:, None] < M, x, 0.0)  # rows that do not exist stay finite
    x = x * 1.4426950408889634
    top = tl.max(x, axis=1)[:, None]
    num = tl.exp2(x - top)
    den = tl.sum(num, axis=1)[:, None]
    tl.store(y_ptr + m[:, None] * sym + n[None, :] * syn, num / den, mask=keep)


def softmax_forward(s):
    M, N = s.shape
    y = torch.empty((M, N), dtype=s.dtype)
    grid = (triton.cdiv(M, 2),)
    softmax_rows[grid](s, y, M, N, *s.stride(), *y.stride(), BM=2, BN=triton.next_power_of_2(N))
    return y
