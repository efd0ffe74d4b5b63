# label: wrong
# title: The number of warps is a power of two.
# says: The number of warps is a power of two.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
    sum_rows[(x.shape[0],)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)
# --- with
    sum_rows[(x.shape[0],)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=64, num_warps=3)
