# label: wrong
# title: BLOCK=1024
# says: The block is 1024 long whatever the row is: what lies beyond is left out of the sum.
# names: only the first tile; last tile missing
# base: right_no_mask_addresses_clamped_tl_where_hides_repeats

# --- replace
    _where_sum[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=triton.next_power_of_2(x.shape[1]))
# --- with
    _where_sum[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=1024)
