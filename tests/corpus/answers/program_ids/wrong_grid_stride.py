# label: wrong
# title: grid stride
# says: the line `where = pid + lane * tl.num_programs(0)` deals elements out in turn (a CUDA grid-stride
#   habit) instead of giving each program BLOCK neighbours, so ids[i] is i % programs
# names: dealt out in turn

from torch import Tensor


@triton.jit
def whose_is_it(ids_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    where = pid + lane * tl.num_programs(0)
    tl.store(ids_ptr + where, pid, mask=where < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    count = x.numel()
    ids = torch.empty(count, dtype=torch.int32, device=x.device)
    whose_is_it[(triton.cdiv(count, block),)](ids, count, BLOCK=block)
    return ids
