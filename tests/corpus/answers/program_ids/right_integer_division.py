# label: right
# title: integer division

from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(ids_ptr + i, i // BLOCK, mask=i < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    program_ids_kernel[(triton.cdiv(n, block),)](ids, n, BLOCK=block)
    return ids
