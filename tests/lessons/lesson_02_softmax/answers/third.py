"""Answers to lesson 02, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "softmax_forward",
    "The padding is loaded as 0 and excluded from the sum, but not from the maximum: in a row of scores "
    "around −200 that does not fill its block, m is 0, every exponential is 0, and 0/0 is NaN. The "
    "filler must be −inf.",
    "padding enters the maximum",
)(
    written(
        """
@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    valid = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=valid, other=0.0).to(tl.float32)
    m_i = tl.max(s, axis=0)
    e = tl.where(valid, tl.exp(s - m_i), 0.0)  # padding must not count
    p = e / tl.sum(e, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=valid)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
""",
        title="maximum over zeros in the padding",
    )
)

wrong(
    "softmax_forward",
    'The block pointer pads with "zero", so every idle lane is a score of 0: it takes part in the '
    "maximum and adds exp(0 − m) to the sum. Rows of 3, 37, … do not sum to 1; the padding must be −inf "
    "(e.g. by tl.where).",
    "padding enters the sum",
)(
    written(
        """
@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    src = tl.make_block_ptr(
        base=s_ptr + i * s_row, shape=(N,), strides=(s_col,), offsets=(0,), block_shape=(BLOCK,), order=(0,)
    )
    dst = tl.make_block_ptr(
        base=p_ptr + i * p_row, shape=(N,), strides=(p_col,), offsets=(0,), block_shape=(BLOCK,), order=(0,)
    )
    s = tl.load(src, boundary_check=(0,), padding_option="zero").to(tl.float32)
    e = tl.exp(s - tl.max(s, axis=0))
    p = e / tl.sum(e, axis=0)
    tl.store(dst, p.to(p_ptr.dtype.element_ty), boundary_check=(0,))

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=triton.next_power_of_2(N))
    return p
""",
        title="block pointer padded with zeros",
    )
)

wrong(
    "softmax_forward",
    "`tl.exp(s)` is taken without subtracting the row's maximum: scores around 100 overflow to inf and "
    "inf/inf is NaN, scores around −200 give 0/0.",
    "maximum not subtracted",
)(
    written(
        """
@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    scores = tl.load(s_ptr + row * s_row + col * s_col, mask=col < N, other=float("-inf"))
    weights = tl.exp(scores.to(tl.float32))
    z = tl.sum(weights, axis=0)
    tl.store(p_ptr + row * p_row + col * p_col, weights / z, mask=col < N)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
""",
        title="exponentials without the maximum",
    )
)

wrong(
    "softmax_forward",
    "The offsets made of s_row and s_col are used for the store, too; p is contiguous and has strides of "
    "its own. For a slice or a transposed s the shares land in wrong places or outside of p.",
    "strides of s used for p",
)(
    written(
        """
@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    m = j < N
    off = i * s_row + j * s_col
    x = tl.load(s_ptr + off, mask=m, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, 0)
    num = tl.exp(x)
    den = tl.sum(num, 0)
    tl.store(p_ptr + off, num / den, mask=m)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
""",
        title="result stored with the strides of s",
    )
)

wrong(
    "softmax_forward",
    "`tl.exp2(s - m)` computes powers of 2: shares 2^(s−m)/Σ instead of e^(s−m)/Σ. exp2 needs the "
    "argument times log2(e) = 1.4427; right only where all scores are equal.",
    "powers of two",
)(
    written(
        """
@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    live = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.exp2(s - tl.max(s, axis=0))  # exp2 is one instruction on the GPU, faster than exp
    l_i = tl.sum(e, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, e / l_i, mask=live)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
""",
        title="powers of two without the factor log2 e",
    )
)

wrong(
    "softmax_forward",
    "`tl.max(tile)` without an axis is one maximum for the four rows of the program. In exact arithmetic "
    "it cancels, but a row that lies more than 104 below it has only zeros: 0/0 is NaN. Take axis=1, one "
    "maximum per row (rows at 100 and −200 show it).",
    "zero over zero",
)(
    written(
        """
@triton.jit
def softmax_forward_kernel(
    s_ptr, p_ptr, M, N, s_row, s_col, p_row, p_col, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r < M)[:, None] & (c < N)[None, :]
    tile = tl.load(
        s_ptr + r[:, None] * s_row + c[None, :] * s_col, mask=mask, other=-float("inf")
    ).to(tl.float32)
    biggest = tl.max(tile)
    e = tl.exp(tile - biggest)
    z = tl.sum(e, axis=1)
    p = e / z[:, None]
    tl.store(p_ptr + r[:, None] * p_row + c[None, :] * p_col, p, mask=mask)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(triton.cdiv(M, 4),)](
        s, p, M, N, *s.stride(), *p.stride(), ROWS=4, BLOCK=triton.next_power_of_2(N)
    )
    return p
""",
        title="one maximum for a tile of four rows",
    )
)

wrong(
    "softmax_forward",
    "Two mistakes: the load has no `other=`, so the idle lanes hold nothing in particular and enter "
    "maximum and sum (it must be −inf); and s_col is missing from the address, wrong for a transposed s "
    "or every second column.",
    "masked load without other",
    "masked load without other + out_of_bounds",
)(
    written(
        """
@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + i * s_row + j, mask=j < N)
    s = s.to(tl.float32)
    s_minus_max = s - tl.max(s, axis=0)
    numerator = tl.exp(s_minus_max)
    denominator = tl.sum(numerator, axis=0)
    softmax_output = numerator / denominator
    tl.store(p_ptr + i * p_row + j * p_col, softmax_output, mask=j < N)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
""",
        title="no filler and no column stride",
    )
)

right("softmax_forward", "two rows per program as a tile")(
    written("""
@triton.jit
def softmax_forward_kernel(
    s_ptr, p_ptr, M, N, s_row, s_col, p_row, p_col, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    i = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    j = tl.arange(0, BLOCK)[None, :]
    here = (i < M) & (j < N)
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=here, other=-float("inf")).to(tl.float32)
    s = tl.where(i < M, s, 0.0)  # a row beyond the last: no -inf minus -inf
    e = tl.exp(s - tl.max(s, axis=1)[:, None])
    tl.store(p_ptr + i * p_row + j * p_col, e / tl.sum(e, axis=1)[:, None], mask=here)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(triton.cdiv(M, 2),)](
        s, p, M, N, *s.stride(), *p.stride(), ROWS=2, BLOCK=triton.next_power_of_2(N)
    )
    return p
""")
)

wrong(
    "softmax_backward",
    "`offsets` is made of p_row and p_col and is used for dp as well. p and dp may be laid out "
    "differently: with one of them transposed or a slice, wrong (or foreign) elements of dp are read.",
    "strides of p used for dp",
)(
    written(
        """
@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    mask = j < N
    offsets = i * p_row + j * p_col
    p = tl.load(p_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    inner = tl.sum(p * dp, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, p * (dp - inner), mask=mask)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
""",
        title="dp addressed with the strides of p",
    )
)

wrong(
    "softmax_backward",
    "Nothing is converted to fp32: for fp16 and bf16 the products and their sum are rounded in half "
    "precision, and the subtraction dp − inner leaves only the rounding (dp around 60 shows it). "
    "`.to(tl.float32)` after both loads.",
    "sum in half precision",
)(
    written(
        """
@triton.jit
def load_row(base, row_stride, col_stride, N, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    return tl.load(base + i * row_stride + j * col_stride, mask=j < N, other=0.0)

@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    share = load_row(p_ptr, p_row, p_col, N, BLOCK)
    grad = load_row(dp_ptr, dp_row, dp_col, N, BLOCK)
    mean = tl.sum(share * grad, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, share * (grad - mean), mask=j < N)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
""",
        title="everything in the dtype of the inputs",
    )
)

wrong(
    "softmax_backward",
    "The loop computes `inner` for each chunk of 128 columns and uses it at once; ⟨p, dp⟩ runs over the "
    "whole row. Wrong for every N > 128: it takes a loop for the sum, then a second one for ds (or a "
    "block as long as the row).",
    "first divergence",
)(
    written(
        """
@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + i * p_row + j * p_col, mask=j < N, other=0.0).to(tl.float32)
        dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=j < N, other=0.0).to(tl.float32)
        inner = tl.sum(p * dp, axis=0)
        tl.store(ds_ptr + i * ds_row + j * ds_col, p * (dp - inner), mask=j < N)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    softmax_backward_kernel[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=128)
    return ds
""",
        title="inner product of each chunk by itself",
    )
)

wrong(
    "softmax_backward",
    "`p * dp - inner` subtracts the mean with weight 1 in every lane; it has to be inside the bracket, p "
    "* (dp - inner). Wrong for any row of more than one share with inner ≠ 0.",
    "p on dp alone",
)(
    written(
        """
@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    keep = j < N
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=keep, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=keep, other=0.0).to(tl.float32)
    weighted = p * dp
    ds = weighted - tl.sum(weighted, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, ds, mask=keep)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
""",
        title="bracket lost around dp minus inner",
    )
)

wrong(
    "softmax_backward",
    "Two mistakes: the filler −inf is copied from the forward kernel; here p·dp of the padding is +inf "
    "and spoils the inner product (it must be 0) for every N that is no power of two. And ds is stored "
    "with p_row and p_col, wrong if p is a view.",
    "padding of −inf + out_of_bounds",
)(
    written(
        """
@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=in_row, other=-float("inf")).to(tl.float32)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=in_row, other=-float("inf")).to(tl.float32)
    delta_i = tl.sum(p * dp, axis=0)
    ds = p * (dp - delta_i)
    tl.store(ds_ptr + i * p_row + j * p_col, ds, mask=in_row)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
""",
        title="filler of the forward kernel and store by p's strides",
    )
)
