# part: a text that answers change

@triton.jit
def saxpy(alpha, xs, ys, zs, n, incx, incy, NPROG: tl.constexpr, TPB: tl.constexpr):
    tid = tl.program_id(0) * TPB + tl.arange(0, TPB)
    for base in range(0, n, NPROG * TPB):
        idx = base + tid
        ok = idx < n
        xv = tl.load(xs + idx * incx, mask=ok, other=0.0).to(tl.float32)
        yv = tl.load(ys + idx * incy, mask=ok, other=0.0).to(tl.float32)
        tl.store(zs + idx, alpha * xv + yv, mask=ok)


def launcher(a, x, y):
    z = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    saxpy[(4,)](a, x, y, z, x.shape[0], x.stride(0), y.stride(0), NPROG=4, TPB=256)
    return z
