# label: wrong
# title: two stages in dy's dtype
# says: Partial sums are rounded to fp16 in memory, and each tile is summed in half precision.
# names: tiles summed in half precision; precision
# base: right_transposed_tiles_two_kernels_partial_sums_in_between

# --- replace
    s = tl.sum(dyT.to(tl.float32), axis=1, keep_dims=True)
# --- with
    s = tl.sum(dyT, axis=1, keep_dims=True)

# --- replace
    part = torch.empty(slabs, N)
# --- with
    part = dy.new_empty(slabs, N)
