# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = p * dp
