# label: wrong
# title: lanes counted from one
# says: `tl.arange(1, BLOCK + 1)` shifts every block by one: element 0 is never written, and element BLOCK
#   gets the number of the program before it (with n = 10, block = 4: ids[4] is 0 and not 1). Lanes count from
#   0.
# names: lanes counted from one

@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    number = tl.program_id(axis=0)
    first = number * BLOCK
    elements = first + tl.arange(1, BLOCK + 1)
    value = tl.zeros([BLOCK], dtype=tl.int32) + number
    tl.store(ids_ptr + elements, value, mask=elements < n)

def program_ids(x, block):
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
