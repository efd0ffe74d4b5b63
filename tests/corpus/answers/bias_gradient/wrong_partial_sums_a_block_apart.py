# label: wrong
# title: rows of partial sums lie a block apart
# says: The partial sums are [tiles, N]: row t begins at t * N, but the first kernel stores it at t * COLS.
# names: out_of_bounds; one edit

@triton.jit
def partial_sums(g, buf, M, N, g0, g1, ROWS: tl.constexpr, COLS: tl.constexpr):
    t = tl.program_id(0)
    i = t.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1).to(tl.int64) * COLS + tl.arange(0, COLS)
    there = (i < M)[:, None] & (j < N)[None, :]
    x = tl.load(g + i[:, None] * g0 + j[None, :] * g1, mask=there, other=0.0)
    tl.store(buf + t * COLS + j, tl.sum(x.to(tl.float32), axis=0), mask=j < N)


@triton.jit
def add_up(buf, out, tiles, N, COLS: tl.constexpr):
    j = tl.program_id(0).to(tl.int64) * COLS + tl.arange(0, COLS)
    total = tl.zeros([COLS], dtype=tl.float32)
    for t in range(tiles):
        total += tl.load(buf + t * N + j, mask=j < N, other=0.0)
    tl.store(out + j, total, mask=j < N)


def bias_gradient(dy):
    M, N = dy.shape
    ROWS, COLS = 32, 32
    tiles = triton.cdiv(M, ROWS)
    buf = torch.empty((tiles, N), dtype=torch.float32, device=dy.device)
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    partial_sums[(tiles, triton.cdiv(N, COLS))](dy, buf, M, N, *dy.stride(), ROWS=ROWS, COLS=COLS)
    add_up[(triton.cdiv(N, COLS),)](buf, db, tiles, N, COLS=COLS)
    return db
