# label: wrong
# title: while i0 >= first and
# says: The scan ends before the tile in which the first query that sees a key lies inside.
# names: the first block that sees the keys is left out; diagonal tiles
# base: right_queries_from_last_first_hidden_one_in_while_loop_no

# --- replace
    while i0 + BQ > first and i0 >= 0:
# --- with
    while i0 >= first and i0 >= 0:
