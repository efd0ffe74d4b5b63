# label: wrong
# title: early return without LSE
# says: Where a block sees nothing, O is written and LSE is not.
# names: never written
# base: right_early_return_where_block_sees_nothing_heads_first_in

# --- replace
        tl.store(lse_at, tl.full((BQ,), float("-inf"), tl.float32), mask=row_ok)
# --- with
