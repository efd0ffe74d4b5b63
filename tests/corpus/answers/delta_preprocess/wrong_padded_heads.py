# label: wrong
# title: padded heads
# says: two: the load of do takes its last stride from o (`d[None, :] * o_d`), and the line `head = …` takes
#   the head's length in delta to be rounded up to whole blocks (num_programs · BLOCK_S) instead of S
# names: out_of_bounds

from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,  # strides of o, counted in elements
    do_b, do_h, do_s, do_d,  # strides of do: its own
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    keep = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=keep, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * o_d, mask=keep, other=0.0)
    row = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    head = (b * H + h) * (tl.num_programs(0) * BLOCK_S)
    tl.store(delta_ptr + head + i, row, mask=i < S)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    """delta = Σ_d do ∘ o in fp32: [B, H, S, D] twice, of any strides → [B, H, S] contiguous."""
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 16, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D,
        num_warps=1,  # one warp's threads add up a row without waiting for other warps
    )
    return delta
