# label: wrong
# title: product in half
# says: line prod = o * do: the product is taken in half precision and only the sum is in fp32
# names: precision

from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    r = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    c = tl.arange(0, BLOCK_D)
    ok = (r[:, None] < S) & (c[None, :] < D)
    o = tl.load(o_ptr + b * o_b + h * o_h + r[:, None] * o_s + c[None, :] * o_d, mask=ok, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + r[:, None] * do_s + c[None, :] * do_d, mask=ok, other=0.0)
    prod = o * do
    tl.store(delta_ptr + (b * H + h) * S + r, tl.sum(prod.to(tl.float32), axis=1), mask=r < S)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    delta_preprocess_kernel[(triton.cdiv(S, 32), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=32, BLOCK_D=triton.next_power_of_2(D)
    )
    return delta
