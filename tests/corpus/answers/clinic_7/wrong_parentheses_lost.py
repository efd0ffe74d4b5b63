# label: wrong
# title: parentheses lost
# says: ds = p * dp - delta_i[:, None] subtracts delta outside the product; it must be p * (dp - delta_i[:,
#   None]).
# names: delta subtracted after the product
# base: _course_solution_without_markers

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = p * dp - delta_i[:, None]
