# part: a text that answers change

from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK] the elements this program owns
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)  # writes n elements in all


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
