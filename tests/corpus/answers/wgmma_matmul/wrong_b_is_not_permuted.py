# label: wrong
# title: b is not permuted.
# says: b is not permuted.
# names: transposed; b's tiles are transposed; one edit
# base: right_b_as_transpose_with_permute_ordinary_stores_columns

# --- replace
        token = warpgroup_mma(at.index(i & 1), bt.index(i & 1).permute((1, 0)), acc, is_async=True)
# --- with
        token = warpgroup_mma(at.index(i & 1), bt.index(i & 1), acc, is_async=True)
