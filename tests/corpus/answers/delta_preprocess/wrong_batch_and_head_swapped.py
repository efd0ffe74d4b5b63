# label: wrong
# title: batch and head swapped
# says: two mistakes: delta is stored at `(h * H + b) * S`, batch and head exchanged, and o * do is multiplied
#   in half precision before the conversion to fp32
# names: out_of_bounds; out_of_bounds + precision

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
    rows_ok = i < S
    ok = rows_ok[:, None] & (d[None, :] < D)
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0)
    g = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0)
    prod = (o * g).to(tl.float32)
    tl.store(delta_ptr + (h * H + b) * S + i, tl.sum(prod, axis=1), mask=rows_ok)


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
