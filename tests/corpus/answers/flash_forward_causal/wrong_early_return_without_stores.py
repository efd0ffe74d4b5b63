# label: wrong
# title: early return without stores
# says: Where a block sees nothing the program returns and leaves O and LSE as torch.empty made them.
# names: never written
# base: right_early_return_where_block_sees_nothing_heads_first_in

# --- replace
        tl.store(o_at, tl.zeros((BQ, BD), tl.float32), mask=row_ok[:, None] & d_ok[None, :])
        tl.store(lse_at, tl.full((BQ,), float("-inf"), tl.float32), mask=row_ok)
# --- with
