# label: wrong
# title: mask lets the place n through
# says: In the store, `where <= n` is one too many: valid places are 0 … n-1, so `<`. For n = 10 and blocks of
#   4 the last program also writes ids[10], behind the end of the vector.
# names: out_of_bounds

@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    where = me * BLOCK + tl.arange(0, BLOCK)
    tl.store(ids_ptr + where, me, where <= n)

def program_ids(x, block):
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
