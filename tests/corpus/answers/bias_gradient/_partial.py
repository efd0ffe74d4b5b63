# part: a text that answers change

@triton.jit
def partial_kernel(dy_ptr, part_ptr, M, N, srow, scol, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    band, strip = tl.program_id(1), tl.program_id(0)
    row = band * HEIGHT + tl.arange(0, HEIGHT)[:, None]
    col = strip * WIDTH + tl.arange(0, WIDTH)[None, :]
    vals = tl.load(dy_ptr + row * srow + col * scol, mask=(row < M) & (col < N), other=0.0)
    sums = tl.sum(vals.to(tl.float32), axis=0, keep_dims=True)
    tl.store(part_ptr + band * N + col, sums, mask=col < N)


def launcher(dy):
    M, N = dy.shape
    bands = triton.cdiv(M, 64)
    parts = torch.empty((bands, N), dtype=torch.float32, device=dy.device)
    partial_kernel[(triton.cdiv(N, 16), bands)](dy, parts, M, N, *dy.stride(), HEIGHT=64, WIDTH=16)
    return parts.sum(0).to(dy.dtype)
