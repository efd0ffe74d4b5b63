# label: wrong
# title: Heads of K are dealt round.
# says: Heads of K are dealt round.
# names: heads dealt round
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    hk = h // G
# --- with
    hk = h % (H // G)
