# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    for start in range(part * BLOCK, S_q, PARTS * BLOCK):
# --- with
    for start in range(0, S_q, BLOCK):
