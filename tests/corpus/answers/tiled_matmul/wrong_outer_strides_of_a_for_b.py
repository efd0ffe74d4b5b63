# label: wrong
# title: outer, strides of A for B
# says: B is addressed with A's strides.
# names: strides of A used for B; out_of_bounds
# base: right_outer_products_without_tl_dot

# --- replace
    mm_outer[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BM=32, BN=32)
# --- with
    mm_outer[grid](a, b, c, m, n, k, *a.stride(), *a.stride(), BM=32, BN=32)
