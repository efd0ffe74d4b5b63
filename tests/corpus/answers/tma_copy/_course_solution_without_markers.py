# part: a text that answers change

from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from flashlearn.kernels.gluon.parts import complying_rows, tiles_of


@gluon.jit
def tma_copy_kernel(x_desc, y_desc):
    rows: gl.constexpr = x_desc.block_type.shape[0]
    columns: gl.constexpr = x_desc.block_type.shape[1]
    corner = [gl.program_id(0) * rows, gl.program_id(1) * columns]
    tile = gl.allocate_shared_memory(x_desc.dtype, [rows, columns], x_desc.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    # the one arrival that the barrier counts, and how many bytes its phase needs besides
    mbarrier.expect(arrived, x_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(x_desc, corner, arrived, tile)
    mbarrier.wait(arrived, phase=0)  # before this line the tile holds anything
    mbarrier.invalidate(arrived)
    tma.async_copy_shared_to_global(y_desc, corner, tile)
    tma.store_wait(0)  # shared memory is given back when the program ends: the copy must have read it


def tma_copy(x: Tensor, block: tuple[int, int] = (64, 64)) -> Tensor:
    """A copy of x [M, N], of any strides; the tile is `block`. Raises ValueError if x is no matrix."""
    if x.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected two dimensions [M, N]")
    x = complying_rows(x)
    y = complying_rows(torch.empty(x.shape, dtype=x.dtype, device=x.device))  # its last row is padded as well
    grid = (triton.cdiv(x.shape[0], block[0]), triton.cdiv(x.shape[1], block[1]))
    tma_copy_kernel[grid](tiles_of(x, list(block)), tiles_of(y, list(block)), num_warps=1)
    return y
