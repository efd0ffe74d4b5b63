# label: wrong
# title: lane mask
# says: line mask=lane < n: the mask compares the lane with n in place of the element, so the last program
#   stores past the end
# names: out_of_bounds

from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    tl.store(ids_ptr + me * BLOCK + lane, me, mask=lane < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
