# label: wrong
# title: all heads of a sequence stored in one place
# says: The store goes to `delta_ptr + b * S + i`: all heads of a sequence write the same S places and the
#   rest of delta is never written. Head bh begins at bh * S; right only for H = 1.
# names: one delta for all heads

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
    o_ptr += b * o_b + h * o_h
    do_ptr += b * do_b + h * do_h
    rows_ok = i < S
    ok = rows_ok[:, None] & (d < D)[None, :]
    o_tile = tl.load(o_ptr + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0)
    do_tile = tl.load(do_ptr + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0)
    delta = tl.sum(o_tile.to(tl.float32) * do_tile.to(tl.float32), axis=1)
    tl.store(delta_ptr + b * S + i, delta, mask=rows_ok)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 32, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
