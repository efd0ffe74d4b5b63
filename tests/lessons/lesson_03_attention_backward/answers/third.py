"""Answers to lesson 03, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "attention_backward",
    "`.sum(dim=-1)` gives delta the shape [S_q], and dp − delta lines it up with the keys: an error for "
    "S_q ≠ S_k, and silently wrong for S_q = S_k. keepdim=True (or [:, None]).",
    "crashed",
)(
    written(
        """
def attention_backward(
    q, k, v, do, alpha
):
    s = alpha * (q @ k.T)
    p = s.softmax(dim=1)
    o = p @ v
    dv = p.T @ do
    dp = do @ v.T
    delta = (o * do).sum(dim=-1)
    ds = p * (dp - delta)
    dq = alpha * (ds @ k)
    dk = alpha * (ds.T @ q)
    return dq, dk, dv
""",
        title="delta without keepdim",
    )
)

wrong(
    "attention_backward",
    "The scale is split as alpha ** 0.5 on q and k: for a negative alpha, which the exercise allows, "
    "that is a complex number and the softmax fails. Multiply the scores by alpha itself.",
    "crashed",
)(
    written(
        """
def attention_backward(
    q, k, v, do, alpha
):
    root = alpha**0.5
    qs, ks = q * root, k * root
    p = torch.softmax(qs @ ks.mT, dim=-1)
    dv = p.mT @ do
    dp = do @ v.mT
    ds = p * (dp - (p * dp).sum(-1, keepdim=True))
    dq = (ds @ ks) * root
    dk = (ds.mT @ qs) * root
    return dq, dk, dv
""",
        title="square root of alpha on both sides",
    )
)

wrong(
    "attention_backward",
    "P is computed as exp(s) / sum(exp(s)): scores beyond 88 in fp32 (710 in fp64) are inf, and inf/inf "
    "is NaN in all three gradients. Use torch.softmax or subtract the row's maximum.",
    "maximum not subtracted",
)(
    written(
        """
def attention_backward(
    q, k, v, do, alpha
):
    e = torch.exp(alpha * torch.einsum("id,jd->ij", q, k))
    p = e / e.sum(dim=1, keepdim=True)
    dv = torch.einsum("ij,id->jd", p, do)
    dp = torch.einsum("id,jd->ij", do, v)
    ds = alpha * p * (dp - (p * dp).sum(dim=1, keepdim=True))
    return torch.einsum("ij,jd->id", ds, k), torch.einsum("ij,id->jd", ds, q), dv
""",
        title="naive softmax that overflows",
    )
)

wrong(
    "attention_backward",
    "Two mistakes: ds = p * dp lacks − delta (the rows of dS must sum to zero), and the function returns "
    "dq, dv, dk where dq, dk, dv is asked for.",
    "delta forgotten + outputs exchanged",
)(
    written(
        """
def attention_backward(
    q, k, v, do, alpha
):
    p = torch.softmax(alpha * q @ k.T, dim=-1)
    dv = p.T @ do
    dp = do @ v.T
    ds = p * dp
    dq = alpha * ds @ k
    dk = alpha * ds.T @ q
    return dq, dv, dk
""",
        title="delta forgotten and dk, dv exchanged",
    )
)

right("attention_backward", "scale put into the scores' gradient, own stable softmax")(
    written("""
def attention_backward(
    q, k, v, do, alpha
):
    scores = alpha * torch.einsum("id,jd->ij", q, k)
    top, _ = scores.max(dim=1, keepdim=True)
    weights = (scores - top).exp()
    weights = weights / weights.sum(dim=1, keepdim=True)
    d_weights = torch.einsum("id,jd->ij", do, v)
    mean = torch.einsum("ij,ij->i", weights, d_weights)
    d_unscaled = alpha * weights * (d_weights - mean[:, None])
    return (
        torch.einsum("ij,jd->id", d_unscaled, k),
        torch.einsum("ij,id->jd", d_unscaled, q),
        torch.einsum("ij,id->jd", weights, do),
    )
""")
)

wrong(
    "delta_preprocess",
    "One block of offsets, made of o's strides, serves both loads. do has strides of its own (even 0 for "
    "an expanded gradient): wherever the two layouts differ, wrong or foreign elements are read.",
    "strides of o used for do",
)(
    written(
        """
@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i = tl.program_id(0).to(tl.int64) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    tile = b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
    m = (i[:, None] < S) & (d[None, :] < D)
    o = tl.load(o_ptr + tile, mask=m, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + tile, mask=m, other=0.0).to(tl.float32)
    tl.store(delta_ptr + bh * S + i, tl.sum(o * do, axis=1), mask=i < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 32, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
""",
        title="do addressed with the strides of o",
    )
)

wrong(
    "delta_preprocess",
    "The store goes to `delta_ptr + b * S + i`: all heads of a sequence write the same S places and the "
    "rest of delta is never written. Head bh begins at bh * S; right only for H = 1.",
    "one delta for all heads",
)(
    written(
        """
@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i = tl.program_id(0).to(tl.int64) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    o_ptr += b * o_b + h * o_h
    do_ptr += b * do_b + h * do_h
    rows_ok = i < S
    ok = rows_ok[:, None] & (d < D)[None, :]
    o_tile = tl.load(o_ptr + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0)
    do_tile = tl.load(do_ptr + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0)
    delta = tl.sum(o_tile.to(tl.float32) * do_tile.to(tl.float32), axis=1)
    tl.store(delta_ptr + b * S + i, delta, mask=rows_ok)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 32, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
""",
        title="all heads of a sequence stored in one place",
    )
)

wrong(
    "delta_preprocess",
    "The mask knows the queries only. BLOCK_D is the next power of two above D, so for D = 48 or 80 each "
    "row reads its neighbour's (or nobody's) components and adds their products.",
    "no mask in d",
)(
    written(
        """
@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    block = tl.program_id(0).to(tl.int64)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh - b * H
    q = block * BLOCK_S + tl.arange(0, BLOCK_S)
    f = tl.arange(0, BLOCK_D)
    exists = (q < S)[:, None]
    left = tl.load(o_ptr + b * o_b + h * o_h + q[:, None] * o_s + f[None, :] * o_d, mask=exists, other=0.0)
    right = tl.load(
        do_ptr + b * do_b + h * do_h + q[:, None] * do_s + f[None, :] * do_d, mask=exists, other=0.0
    )
    product = left.to(tl.float32) * right.to(tl.float32)
    tl.store(delta_ptr + bh * S + q, tl.sum(product, axis=1), mask=q < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 32, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
""",
        title="components beyond D not masked",
    )
)

wrong(
    "delta_preprocess",
    "`o * do` is computed before the conversion: in fp16 the products of numbers around 100 are rounded "
    "(beyond 255 · 255 they are inf), in bf16 they keep 8 bits. Convert both factors first, not their "
    "product.",
    "in half precision",
    "precision",
)(
    written(
        """
@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i = tl.program_id(0).to(tl.int64) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    ok = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0)
    prod = (o * do).to(tl.float32)
    acc = tl.sum(prod, axis=1)
    tl.store(delta_ptr + bh * S + i, acc, mask=i < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 64, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), B * H)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
""",
        title="product in half precision and sum in fp32",
    )
)

wrong(
    "delta_preprocess",
    "Two mistakes in a one-dimensional grid: `b = bh % H` and `h = bh // H` are exchanged (wrong for "
    "more than one sequence or head), and the launcher counts `S // 32` blocks, so the last S % 32 "
    "queries are never written.",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D, blocks,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    bh = pid // blocks
    b, h = bh % H, bh // H
    i = (pid % blocks) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    mask = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=mask, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d, mask=mask, other=0.0)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    tl.store(delta_ptr + bh * S + i, delta, mask=i < S)

def delta_preprocess(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    blocks = S // 32
    delta_preprocess_kernel[(blocks * B * H,)](
        o, do, delta, H, S, D, blocks, *o.stride(), *do.stride(),
        BLOCK_S=32, BLOCK_D=triton.next_power_of_2(D),
    )
    return delta
""",
        title="sequence and head exchanged and blocks rounded down",
    )
)
