# label: right
# title: a three-dimensional grid

@triton.jit
def preprocess(Out, DO, Delta, so_b, so_h, so_m, so_d, sd_b, sd_h, sd_m, sd_d, H, N_CTX, D_HEAD,
               BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    off_m = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    off_h = tl.program_id(0).to(tl.int64)
    off_b = tl.program_id(2).to(tl.int64)
    off_d = tl.arange(0, BLOCK_D)
    mask_m = off_m < N_CTX
    mask = mask_m[:, None] & (off_d[None, :] < D_HEAD)
    o = tl.load(Out + off_b * so_b + off_h * so_h + off_m[:, None] * so_m + off_d[None, :] * so_d,
                mask=mask, other=0.0).to(tl.float32)
    do = tl.load(DO + off_b * sd_b + off_h * sd_h + off_m[:, None] * sd_m + off_d[None, :] * sd_d,
                 mask=mask, other=0.0).to(tl.float32)
    tl.store(Delta + (off_b * H + off_h) * N_CTX + off_m, tl.sum(o * do, axis=1), mask=mask_m)


def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty(B, H, S)
    preprocess[(H, triton.cdiv(S, 16), B)](
        o, do, delta, *o.stride(), *do.stride(), H, S, D, BLOCK_M=16, BLOCK_D=triton.next_power_of_2(D))
    return delta
