# label: wrong
# title: thread index
# says: the store writes `lanes`, the place inside the block (CUDA threadIdx), instead of the number of the
#   program.
# names: lane numbers

from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    block_id = tl.program_id(axis=0)
    lanes = tl.arange(0, BLOCK)
    idx = block_id * BLOCK + lanes
    tl.store(ids_ptr + idx, lanes, mask=idx < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
