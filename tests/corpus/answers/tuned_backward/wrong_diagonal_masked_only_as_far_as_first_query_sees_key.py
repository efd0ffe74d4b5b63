# label: wrong
# title: The diagonal is masked only as far as the first query that sees a key.
# says: The diagonal is masked only as far as the first query that sees a key.
# names: mask forgotten; one edit; leak from the future
# base: right_two_kernels_delta_by_torch

# --- replace
                if start < all_see:  # the diagonal crosses this tile
# --- with
                if start < first:  # the diagonal crosses this tile
