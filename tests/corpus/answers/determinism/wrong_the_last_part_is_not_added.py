# label: wrong
# title: range(0, wrote - 1)
# says: The last part is not added.
# names: the last part is not added; one edit
# base: _course_solution

# --- replace
    for _ in range(0, wrote):
# --- with
    for _ in range(0, wrote - 1):
