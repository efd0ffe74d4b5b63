# label: right
# title: three programs share the blocks in a loop

@triton.jit
def number_blocks(out, n_elements, n_blocks, BLOCK: tl.constexpr):
    # a handful of programs share the blocks among them
    step = tl.num_programs(0)
    for blk in range(tl.program_id(0), n_blocks, step):
        idx = blk * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + idx, blk, mask=idx < n_elements)


def program_ids(x, block):
    out = torch.empty(x.shape[0], dtype=torch.int32)
    n_blocks = (x.shape[0] + block - 1) // block
    number_blocks[(3,)](out, out.numel(), n_blocks, BLOCK=block)
    return out
