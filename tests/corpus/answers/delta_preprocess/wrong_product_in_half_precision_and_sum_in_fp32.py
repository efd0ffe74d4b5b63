# label: wrong
# title: product in half precision and sum in fp32
# says: `o * do` is computed before the conversion: in fp16 the products of numbers around 100 are rounded
#   (beyond 255 · 255 they are inf), in bf16 they keep 8 bits. Convert both factors first, not their product.
# names: in half precision; precision

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
    ok = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0)
    prod = (o * do).to(tl.float32)
    acc = tl.sum(prod, axis=1)
    tl.store(delta_ptr + bh * S + i, acc, mask=i < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 64, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
