# label: wrong
# title: parts begin apart and step alike
# says: `for start in range(part * BLOCK, S_q, BLOCK)` moves each part's beginning but not its step: all parts
#   but the first repeat tiles of the others.
# names: the programs start apart and overlap
# base: _course_solution_without_markers

# --- replace
    for start in range(part * BLOCK, S_q, PARTS * BLOCK):
# --- with
    for start in range(part * BLOCK, S_q, BLOCK):
