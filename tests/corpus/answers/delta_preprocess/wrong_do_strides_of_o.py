# label: wrong
# title: do strides of o
# says: line `do_ptrs`: do is addressed by the row stride of o
# names: out_of_bounds

from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
  
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    in_queries = i < S
    in_tile = in_queries[:, None] & (d < D)[None, :]
    o_ptrs = o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
    do_ptrs = do_ptr + b * do_b + h * do_h + i[:, None] * o_s + d[None, :] * do_d
  
    o = tl.load(o_ptrs, mask=in_tile, other=0.0).to(tl.float32)
    do = tl.load(do_ptrs, mask=in_tile, other=0.0).to(tl.float32)
    delta = tl.sum(o * do, axis=1)
    tl.store(delta_ptr + (b * H + h) * S + i, delta, mask=in_queries)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    """delta = Σ_d do ∘ o in fp32: [B, H, S, D] twice, of any strides → [B, H, S] contiguous."""
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 16, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D,
        num_warps=1,
    )
    return delta
