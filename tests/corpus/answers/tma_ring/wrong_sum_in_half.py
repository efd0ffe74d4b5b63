# label: wrong
# title: sum in half
# says: line total += gl.sum(x, axis=1).to(gl.float32): each tile is summed in the dtype of x, only the tiles
#   are added in fp32
# names: one edit

from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from flashlearn.kernels.gluon.parts import complying_rows, tiles_of


@gluon.jit
def tma_ring_kernel(x_desc, y_ptr, M, N, STAGES: gl.constexpr, num_warps: gl.constexpr):
    rows: gl.constexpr = x_desc.block_type.shape[0]
    columns: gl.constexpr = x_desc.block_type.shape[1]
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [num_warps, 1], [1, 0])
    first_row = gl.program_id(0) * rows
    tiles = gl.cdiv(N, columns)
    ring = gl.allocate_shared_memory(x_desc.dtype, [STAGES, rows, columns], x_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for each in gl.static_range(STAGES):
        mbarrier.init(full.index(each), count=1)
    for i in gl.static_range(STAGES - 1):
        mbarrier.expect(full.index(i), x_desc.block_type.nbytes, pred=i < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, i * columns], full.index(i), ring.index(i), pred=i < tiles
        )
    total = gl.zeros([rows], gl.float32, layout=gl.SliceLayout(1, layout))
    for i in range(tiles):
        later = i + STAGES - 1
        nxt = later % STAGES
        mbarrier.expect(full.index(nxt), x_desc.block_type.nbytes, pred=later < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, later * columns], full.index(nxt), ring.index(nxt), pred=later < tiles
        )
        mbarrier.wait(full.index(i % STAGES), i // STAGES % 2)
        x = ring.index(i % STAGES).load(layout)
        total += gl.sum(x, axis=1).to(gl.float32)
    for each in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(each))
    out = first_row + gl.arange(0, rows, layout=gl.SliceLayout(1, layout))
    gl.store(y_ptr + out, total, mask=out < M)


def tma_ring(x: Tensor, block: tuple[int, int] = (32, 64), stages: int = 3) -> Tensor:
    """The sum of each row of x [M, N] in fp32, by `stages` buffers. Raises ValueError if x is no matrix."""
    if x.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected two dimensions [M, N]")
    x = complying_rows(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(x.shape[0], block[0]),)
    tma_ring_kernel[grid](tiles_of(x, list(block)), y, *x.shape, STAGES=stages, num_warps=4)
    return y
