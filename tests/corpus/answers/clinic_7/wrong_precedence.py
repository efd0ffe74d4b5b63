# label: wrong
# title: precedence
# says: `p * dp - delta_i[:, None]` subtracts delta unweighted: the bracket p * (dp − delta) is missing
# names: delta subtracted after the product
# base: _course_solution_without_markers

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = p * dp - delta_i[:, None]
