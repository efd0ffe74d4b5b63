# label: wrong
# title: normalised in the tile
# says: the line `p = p / tl.sum(p, axis=1)[:, None]` makes each tile's part of a row sum to 1; LSE has
#   normalised already, and the tile is not the row
# names: softmax of the tile
# base: _course_solution_without_markers

# --- replace
    p = tl.exp(s - shift[:, None])  # at most 1, and no sum: the row's is in lse already
# --- with
    p = tl.exp(s - shift[:, None])
    total = tl.sum(p, axis=1)
    p = p / tl.where(total == 0.0, 1.0, total)[:, None]
