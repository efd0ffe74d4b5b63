# label: wrong
# title: while j0 > 0
# says: The first tile of keys is never visited.
# names: first tile missing
# base: right_minus_1e30_as_filler_guarded_by_p_where_see_0_from

# --- replace
    while j0 >= 0:  # from the diagonal back to the first key
# --- with
    while j0 > 0:  # from the diagonal back to the first key
