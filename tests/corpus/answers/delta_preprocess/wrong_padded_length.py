# label: wrong
# title: padded length
# says: line base = (b * H + h) * tl.num_programs(0) * BLOCK_S: heads are taken to be padded to whole blocks,
#   but delta is dense with S numbers per head
# names: out_of_bounds

from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    o_ptr += b * o_b + h * o_h
    do_ptr += b * do_b + h * do_h
    ok = (i < S)[:, None] & (d < D)[None, :]
    x = tl.load(o_ptr + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0).to(tl.float32)
    y = tl.load(do_ptr + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0).to(tl.float32)
    base = (b * H + h) * tl.num_programs(0) * BLOCK_S
    tl.store(delta_ptr + base + i, tl.sum(x * y, axis=1), mask=i < S)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 16, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
