# label: wrong
# title: the inner index has 32 bits
# says: The inner index times B's row stride may pass 2³¹ and wraps around.
# names: 32-bit offset
# base: wrong_sum_over_k_by_broadcasting_in_half_store_without

# --- replace
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
# --- with
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_rows, in_columns = rows < M, columns < N

# --- replace
        inner = start + tl.arange(0, BLOCK_K).to(tl.int64)
# --- with
        inner = start + tl.arange(0, BLOCK_K)
        in_inner = inner < K

# --- replace
            mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0,
# --- with
            mask=in_rows[:, None] & in_inner[None, :], other=0.0,

# --- replace
            mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0,
# --- with
            mask=in_inner[:, None] & in_columns[None, :], other=0.0,

# --- replace
        acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc)
# --- with
        acc += tl.dot(a, b, input_precision="ieee")
    c_ptrs = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(c_ptrs, acc, mask=in_rows[:, None] & in_columns[None, :])


# --- replace
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
# --- with
    a: Tensor, b: Tensor, BLOCK_M: int = 32, BLOCK_N: int = 64, BLOCK_K: int = 16, **options: int
) -> Tensor:
