# label: wrong
# title: atomics on empty
# says: one program per tile with atomics, but `total = torch.empty(N, ...)`: the sums begin at whatever the
#   memory holds instead of at 0
# names: uninitialised memory

from torch import Tensor


@triton.jit
def column_part(dy_ptr, total_ptr, M, N, dy_row, dy_col, TM: tl.constexpr, TN: tl.constexpr):
    r = (tl.program_id(0) * TM + tl.arange(0, TM)).to(tl.int64)
    c = (tl.program_id(1) * TN + tl.arange(0, TN)).to(tl.int64)
    ok = (r < M)[:, None] & (c < N)[None, :]
    tile = tl.load(dy_ptr + r[:, None] * dy_row + c[None, :] * dy_col, mask=ok, other=0.0)
    part = tl.sum(tile.to(tl.float32), axis=0)
    tl.atomic_add(total_ptr + c, part, mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    total = torch.empty(N, dtype=torch.float32, device=dy.device)
    column_part[(triton.cdiv(M, 64), triton.cdiv(N, 32))](dy, total, M, N, *dy.stride(), TM=64, TN=32)
    return total.to(dy.dtype)
