# label: wrong
# title: alpha twice
# says: line `ds`: alpha is multiplied into ds and once more at the end
# names: alpha applied twice
# base: _course_solution_without_markers

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = alpha * p * (dp - delta_i[:, None])
