# label: wrong
# title: half accumulator
# says: `acc` has the dtype of a and each product is rounded to it (`.to(acc.dtype)`): sums of fp16 in fp16.
# names: precision
# base: wrong_b_mask_without_k

# --- replace
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        kk = step * BLOCK_K + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(a_ptr + rows[:, None] * a_row + kk[None, :] * a_col, mask=ok_m[:, None] & (kk < K)[None, :], other=0.0)
        b = tl.load(b_ptr + kk[:, None] * b_row + columns[None, :] * b_col, mask=ok_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
# --- with
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=a_ptr.dtype.element_ty)
    for k0 in range(0, K, BLOCK_K):
        kk = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(a_ptr + rows[:, None] * a_row + kk[None, :] * a_col, mask=ok_m[:, None] & (kk < K)[None, :], other=0.0)
        b = tl.load(b_ptr + kk[:, None] * b_row + columns[None, :] * b_col, mask=(kk < K)[:, None] & ok_n[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee").to(acc.dtype)
