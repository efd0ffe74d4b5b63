# label: wrong
# title: counted from one, grid rounded down
# says: the kernel stores pid + 1, and the grid is rounded down (n // block), so the elements of the ragged
#   tail have no program.
# names: never written + counted from one

@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    where = me * BLOCK + tl.arange(0, BLOCK)
    # a whole block filled with my number
    number = tl.full((BLOCK,), 1, tl.int32) + me
    tl.store(ids_ptr + where, number, mask=where < n)


def program_ids(x: torch.Tensor, block: int) -> torch.Tensor:
    n = x.shape[0]
    ids = torch.empty((n,), device=x.device, dtype=torch.int32)
    nprog = n // block
    if nprog > 0:
        program_ids_kernel[(nprog,)](ids, n, BLOCK=block)
    return ids
