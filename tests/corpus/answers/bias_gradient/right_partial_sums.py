# label: right
# title: partial sums

from torch import Tensor


@triton.jit
def partial_column_sums(dy_ptr, part_ptr, M, N, dy_row, dy_col, TM: tl.constexpr, TN: tl.constexpr):
    t = tl.program_id(1).to(tl.int64)
    r = t * TM + tl.arange(0, TM)
    c = tl.program_id(0).to(tl.int64) * TN + tl.arange(0, TN)
    live = (c[:, None] < N) & (r[None, :] < M)  # [TN, TM]: the tile lies on its side
    tile = tl.load(dy_ptr + c[:, None] * dy_col + r[None, :] * dy_row, mask=live, other=0.0)
    tl.store(part_ptr + t * N + c, tl.sum(tile.to(tl.float32), axis=1), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij: [M, N] of any strides → [N], in the dtype of dy, summed in fp32."""
    M, N = dy.shape
    TM, TN = 64, 32
    tiles = triton.cdiv(M, TM)
    part = torch.empty((tiles, N), dtype=torch.float32, device=dy.device)
    partial_column_sums[(triton.cdiv(N, TN), tiles)](dy, part, M, N, dy.stride(0), dy.stride(1), TM=TM, TN=TN)
    return part.sum(dim=0).to(dy.dtype)
