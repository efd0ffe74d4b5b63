# label: wrong
# title: tl.store(LSE + h * M + offs_m
# says: All batch entries write the LSE of one: the batch is missing from its offset.
# names: race
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    tl.store(LSE + hz * M + offs_m, lse, mask=offs_m < M)
# --- with
    tl.store(LSE + h * M + offs_m, lse, mask=offs_m < M)
