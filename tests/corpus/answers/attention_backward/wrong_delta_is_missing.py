# label: wrong
# title: loop, p * dp
# says: delta is missing.
# names: delta forgotten
# base: right_a_loop_over_the_queries_outer_products

# --- replace
        ds = p * (dp - delta)
# --- with
        ds = p * dp
