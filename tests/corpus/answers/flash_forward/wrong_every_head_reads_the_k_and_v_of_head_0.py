# label: wrong
# title: at = tl.minimum(j, S - 1)
# says: Every head reads the K and V of head 0.
# names: permuted heads; K and V of the first head
# base: right_one_program_per_head_autotuned_clamped_rows_tl_where

# --- replace
            at = (head * S + tl.minimum(j, S - 1))[:, None] * D + tl.minimum(c, D - 1)[None, :]
# --- with
            at = tl.minimum(j, S - 1)[:, None] * D + tl.minimum(c, D - 1)[None, :]
