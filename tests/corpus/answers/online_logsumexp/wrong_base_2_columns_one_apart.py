# label: wrong
# title: base 2, columns one apart
# says: The columns of a view are taken as neighbours.
# names: columns one apart; out_of_bounds
# base: right_powers_of_two_a_while_loop_that_starts_at_minus_1e30

# --- replace
        x = tl.load(x_ptr + r * sr + c * sc, mask=c < cols, other=-float("inf")).to(tl.float32) * LOG2E
# --- with
        x = tl.load(x_ptr + r * sr + c, mask=c < cols, other=-float("inf")).to(tl.float32) * LOG2E
