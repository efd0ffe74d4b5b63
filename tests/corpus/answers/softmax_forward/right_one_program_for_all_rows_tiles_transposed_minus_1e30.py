# label: right
# title: one program for all rows, tiles transposed, −1e30 for padding

@triton.jit
def _transposed(x_ptr, y_ptr, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM).to(tl.int64)[None, :]
    n = tl.arange(0, BN).to(tl.int64)[:, None]
    for first in range(0, M, BM):
        keep = (first + m < M) & (n < N)
        x = tl.load(x_ptr + (first + m) * sm + n * sn, keep, other=0.0).to(tl.float32)
        x = tl.where(n < N, x, -1e30)
        e = tl.exp(x - tl.max(x, axis=0, keep_dims=True))
        tl.store(y_ptr + (first + m) * N + n, e / tl.sum(e, axis=0, keep_dims=True), mask=keep)


def one_program_transposed_tiles(s):
    y = torch.empty(s.shape, dtype=s.dtype)
    _transposed[(1,)](s, y, *s.shape, *s.stride(), BM=4, BN=triton.next_power_of_2(s.shape[1]))
    return y
