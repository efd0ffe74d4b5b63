# label: wrong
# title: zeros beyond the last row count
# says: rows beyond the tensor are read as 0, and 0 is larger than numbers below it
# names: zeros beyond the last row; one edit
# base: right_by_blocks

# --- replace
        x = tl.where((start + rows < S)[:, None], x, -float("inf"))
# --- with
