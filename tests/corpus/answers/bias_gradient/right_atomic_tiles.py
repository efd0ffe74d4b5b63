# label: right
# title: atomic tiles

from torch import Tensor


@triton.jit
def tile_into_total(dy_ptr, total_ptr, M, N, dy_row, dy_col, TM: tl.constexpr, TN: tl.constexpr):
    r = (tl.program_id(1) * TM + tl.arange(0, TM)).to(tl.int64)
    c = (tl.program_id(0) * TN + tl.arange(0, TN)).to(tl.int64)
    tile = tl.load(
        dy_ptr + c[:, None] * dy_col + r[None, :] * dy_row,
        mask=(c[:, None] < N) & (r[None, :] < M), other=0.0,
    )
    tl.atomic_add(total_ptr + c, tl.sum(tile.to(tl.float32), axis=1), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    total = torch.zeros(N, dtype=torch.float32, device=dy.device)
    tile_into_total[(triton.cdiv(N, 16), triton.cdiv(M, 64))](dy, total, M, N, *dy.stride(), TM=64, TN=16)
    return total.to(dy.dtype)
