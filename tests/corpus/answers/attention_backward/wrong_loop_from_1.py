# label: wrong
# title: loop from 1
# says: The first query is left out of the sums for dK and dV, and its dQ is zero: the loop starts at 1.
# names: first tile missing
# base: right_a_loop_over_the_queries_outer_products

# --- replace
    for i in range(q.shape[0]):
# --- with
    for i in range(1, q.shape[0]):
