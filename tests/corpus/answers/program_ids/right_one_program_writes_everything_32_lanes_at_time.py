# label: right
# title: one program writes everything, 32 lanes at a time, and divides

@triton.jit
def _divided_ids(out_ptr, n, block, LANES: tl.constexpr):
    at = 0
    while at < n:
        lane = at + tl.arange(0, LANES)
        tl.store(out_ptr + lane, lane // block, mask=lane < n)
        at += LANES


def one_program_divides(x, block):
    ids = torch.zeros(len(x), dtype=torch.int32)
    _divided_ids[(1,)](ids, len(x), block, LANES=32)
    return ids
