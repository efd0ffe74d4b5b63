# label: wrong
# title: delta outside the brackets
# says: `ds = p * dp - delta_i[:, None]` lacks the brackets: delta is not multiplied by p (and padded lanes
#   get -delta).
# names: delta subtracted after the product
# base: _course_solution_without_markers

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = p * dp - delta_i[:, None]
