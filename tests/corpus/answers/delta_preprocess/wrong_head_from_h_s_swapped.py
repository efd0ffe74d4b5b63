# label: wrong
# title: head from H S swapped
# says: line `tl.store`: index (h * B + b) * S, so the output is laid out [H, B, S] instead of [B, H, S]
# names: permuted heads

from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,  # strides of o, counted in elements
    do_b, do_h, do_s, do_d,  # strides of do: its own
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads 2 · BLOCK_S · D, writes BLOCK_S numbers
    h = tl.program_id(1).to(tl.int64)  # which head, of which sequence; 64 bits: h · o_h may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)  # [BLOCK_S] queries; from S on, none
    d = tl.arange(0, BLOCK_D)  # [BLOCK_D] components; from D on, none
    in_queries = i < S
    in_tile = in_queries[:, None] & (d < D)[None, :]
    o_ptrs = o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
    do_ptrs = do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d
    # padding holds 0 · 0, which adds nothing to the sum
    o = tl.load(o_ptrs, mask=in_tile, other=0.0).to(tl.float32)  # [BLOCK_S, BLOCK_D]
    do = tl.load(do_ptrs, mask=in_tile, other=0.0).to(tl.float32)
    delta = tl.sum(o * do, axis=1)  # [BLOCK_S]
    tl.store(delta_ptr + (h * tl.num_programs(2) + b) * S + i, delta, mask=in_queries)


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
