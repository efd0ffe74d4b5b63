# label: wrong
# title: What is used is not what the wait returned.
# says: What is used is not what the wait returned.
# names: product not waited for; the sum is used too early
# base: right_b_as_transpose_with_permute_ordinary_stores_columns

# --- replace
    for i in range(steps):
# --- with
    token = acc
    for i in range(steps):

# --- replace
    gl.store(c_ptr + i[:, None] * stride + j[None, :], acc.to(ad.dtype), mask=(i < M)[:, None] & (j < N)[None, :])
# --- with
    gl.store(c_ptr + i[:, None] * stride + j[None, :], token.to(ad.dtype), mask=(i < M)[:, None] & (j < N)[None, :])
