# label: right
# title: a two-dimensional grid

@triton.jit
def ids_2d(out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    col = tl.program_id(0)
    which = row * 2 + col
    offs = which * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, which, mask=offs < n)


def program_ids(x, block):
    n = x.numel()
    out = torch.empty(n, dtype=torch.int32, device=x.device)
    ids_2d[(2, triton.cdiv(n, 2 * block))](out, n, BLOCK=block)
    return out
