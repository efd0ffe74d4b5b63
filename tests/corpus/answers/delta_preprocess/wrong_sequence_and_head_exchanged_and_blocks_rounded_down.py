# label: wrong
# title: sequence and head exchanged and blocks rounded down
# says: Two mistakes in a one-dimensional grid: `b = bh % H` and `h = bh // H` are exchanged (wrong for more
#   than one sequence or head), and the launcher counts `S // 32` blocks, so the last S % 32 queries are never
#   written.
# names: out_of_bounds

@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D, blocks,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    bh = pid // blocks
    b, h = bh % H, bh // H
    i = (pid % blocks) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    mask = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=mask, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d, mask=mask, other=0.0)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    tl.store(delta_ptr + bh * S + i, delta, mask=i < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    blocks = S // 32
    delta_preprocess_kernel[(blocks * B * H,)](
        o, do, delta, H, S, D, blocks, *o.stride(), *do.stride(),
        BLOCK_S=32, BLOCK_D=triton.next_power_of_2(D),
    )
    return delta
