# label: wrong
# title: elements for bytes
# says: line mbarrier.expect(arrived, rows * columns): expects as many bytes as the tile has elements
# names: elements counted for bytes

from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from flashlearn.kernels.gluon.parts import complying_rows, tiles_of


@gluon.jit
def tma_copy_kernel(x_desc, y_desc):
    rows: gl.constexpr = x_desc.block_type.shape[0]
    columns: gl.constexpr = x_desc.block_type.shape[1]
    origin = [gl.program_id(0) * rows, gl.program_id(1) * columns]
    buf = gl.allocate_shared_memory(x_desc.dtype, [rows, columns], x_desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, rows * columns)
    tma.async_copy_global_to_shared(x_desc, origin, bar, buf)
    mbarrier.wait(bar, phase=0)
    mbarrier.invalidate(bar)
    tma.async_copy_shared_to_global(y_desc, origin, buf)
    tma.store_wait(0)


def tma_copy(x: Tensor, block: tuple[int, int] = (64, 64)) -> Tensor:
    """A copy of x [M, N], of any strides; the tile is `block`. Raises ValueError if x is no matrix."""
    if x.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected two dimensions [M, N]")
    x = complying_rows(x)
    y = complying_rows(torch.empty(x.shape, dtype=x.dtype, device=x.device))
    grid = (triton.cdiv(x.shape[0], block[0]), triton.cdiv(x.shape[1], block[1]))
    tma_copy_kernel[grid](tiles_of(x, list(block)), tiles_of(y, list(block)), num_warps=1)
    return y
