# label: wrong
# title: batch and head exchanged, and products in half precision
# says: delta is stored as [H, B, S], and the products are rounded to half precision before they are summed.
# names: permuted heads + precision

@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr, S, D, ob, oh, os_, od, gb, gh, gs, gd,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, COLS)
    keep = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * ob + h * oh + i[:, None] * os_ + d[None, :] * od, mask=keep, other=0.0)
    do = tl.load(do_ptr + b * gb + h * gh + i[:, None] * gs + d[None, :] * gd, mask=keep, other=0.0)
    delta = tl.sum((o * do).to(tl.float32), axis=1)
    tl.store(delta_ptr + (h * tl.num_programs(2) + b) * S + i, delta, mask=i < S)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    delta_kernel[(triton.cdiv(S, 32), H, B)](
        o, do, delta, S, D, *o.stride(), *do.stride(), ROWS=32, COLS=triton.next_power_of_2(D)
    )
    return delta
