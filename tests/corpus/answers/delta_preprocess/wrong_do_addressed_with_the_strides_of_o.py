# label: wrong
# title: do addressed with the strides of o
# says: One block of offsets, made of o's strides, serves both loads. do has strides of its own (even 0 for an
#   expanded gradient): wherever the two layouts differ, wrong or foreign elements are read.
# names: strides of o used for do

@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i = tl.program_id(0).to(tl.int64) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    tile = b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
    m = (i[:, None] < S) & (d[None, :] < D)
    o = tl.load(o_ptr + tile, mask=m, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + tile, mask=m, other=0.0).to(tl.float32)
    tl.store(delta_ptr + bh * S + i, tl.sum(o * do, axis=1), mask=i < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 32, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
