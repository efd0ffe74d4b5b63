# label: wrong
# title: grid rounded down but at least one
# says: The grid `max(n // block, 1)` rounds down, so the ragged tail gets no program: for n = 10, block = 4
#   the elements 8 and 9 are never written. Use triton.cdiv.
# names: tail without a program

@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK) + BLOCK * pid
    inside = offs < n
    tl.store(ids_ptr + offs, offs // BLOCK, mask=inside)

def program_ids(x, block):
    n = x.shape[0]
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    blocks = max(n // block, 1)
    program_ids_kernel[(blocks,)](ids, n, BLOCK=block)
    return ids
