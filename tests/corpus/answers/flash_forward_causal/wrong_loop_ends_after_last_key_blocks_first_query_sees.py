# label: wrong
# title: tl.min(limit, axis=0) + 1
# says: The loop ends after the last key that the block's first query sees.
# names: last tile missing; loop ends one tile early; loop ends with the first query
# base: right_early_return_where_block_sees_nothing_heads_first_in

# --- replace
    end = tl.max(tl.where(row_ok, limit, -1), axis=0) + 1
# --- with
    end = tl.min(limit, axis=0) + 1
