# label: right
# title: a stretch of queries each
# base: _course_solution_without_markers

# --- replace
    for start in range(part * BLOCK, S_q, PARTS * BLOCK):
# --- with
    stretch = tl.cdiv(tl.cdiv(S_q, BLOCK), PARTS) * BLOCK
    for start in range(part * stretch, tl.minimum(S_q, (part + 1) * stretch), BLOCK):
