# label: wrong
# title: pid + arange
# says: The blocks overlap: program p begins at p, not at p * BLOCK.
# names: same block for all; race

@triton.jit
def by_the_notebook(ids_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid + tl.arange(0, BLOCK)
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)


def program_ids(x, block):
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32)
    by_the_notebook[(triton.cdiv(n, block),)](ids, n, BLOCK=block)
    return ids
