# label: wrong
# title: loop, exp of the scores
# says: The maximum is not subtracted: beyond 88 the exponentials overflow.
# names: maximum not subtracted; overflow
# base: right_a_loop_over_the_queries_outer_products

# --- replace
        e = torch.exp(s - s.max())
# --- with
        e = torch.exp(s)
