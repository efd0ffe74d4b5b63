# label: wrong
# title: offs_m[:, None] + shift > cols[None, :]
# says: A query does not see its own key: > instead of ≥.
# names: one edit; the diagonal is hidden
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
            qk = tl.where((offs_m[:, None] + shift >= cols[None, :]) & (cols[None, :] < N), qk, float("-inf"))
# --- with
            qk = tl.where((offs_m[:, None] + shift > cols[None, :]) & (cols[None, :] < N), qk, float("-inf"))
