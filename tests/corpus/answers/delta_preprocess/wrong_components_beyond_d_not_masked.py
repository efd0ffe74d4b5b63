# label: wrong
# title: components beyond D not masked
# says: The mask knows the queries only. BLOCK_D is the next power of two above D, so for D = 48 or 80 each
#   row reads its neighbour's (or nobody's) components and adds their products.
# names: no mask in d; out_of_bounds

@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    block = tl.program_id(0).to(tl.int64)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh - b * H
    q = block * BLOCK_S + tl.arange(0, BLOCK_S)
    f = tl.arange(0, BLOCK_D)
    exists = (q < S)[:, None]
    left = tl.load(o_ptr + b * o_b + h * o_h + q[:, None] * o_s + f[None, :] * o_d, mask=exists, other=0.0)
    right = tl.load(
        do_ptr + b * do_b + h * do_h + q[:, None] * do_s + f[None, :] * do_d, mask=exists, other=0.0
    )
    product = left.to(tl.float32) * right.to(tl.float32)
    tl.store(delta_ptr + bh * S + q, tl.sum(product, axis=1), mask=q < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 32, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
