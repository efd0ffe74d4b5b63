# label: wrong
# title: strictly earlier no division guard
# says: two: `<` instead of `<=` hides the diagonal, and acc is divided by l_i without a guard, so a query
#   that sees nothing gets 0 / 0.
# names: the diagonal is hidden + rows that see nothing are NaN
# base: _course_solution_without_markers

# --- replace
        seen = in_keys[None, :] & (columns[None, :] <= last_seen[:, None])
# --- with
        seen = in_keys[None, :] & (columns[None, :] < last_seen[:, None])

# --- replace
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]  # a query that saw nothing: 0 / 1
# --- with
    o = acc / l_i[:, None]  # a query that saw nothing: 0 / 1
