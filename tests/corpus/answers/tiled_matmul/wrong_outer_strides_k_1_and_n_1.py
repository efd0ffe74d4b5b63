# label: wrong
# title: outer, strides k, 1 and n, 1
# says: Both views are taken for contiguous matrices.
# names: views taken for contiguous; out_of_bounds
# base: right_outer_products_without_tl_dot

# --- replace
    mm_outer[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BM=32, BN=32)
# --- with
    mm_outer[grid](a, b, c, m, n, k, k, 1, n, 1, BM=32, BN=32)
