# label: wrong
# title: parts overlap
# says: each part scans its quarter [part·quarter, end), but in_queries is still rows < S_q instead of rows <
#   end, so the last tile of a part reaches into the next part and those queries are counted twice.
# names: parts that are no whole tiles
# base: _course_solution_without_markers

# --- replace
    for start in range(part * BLOCK, S_q, PARTS * BLOCK):
# --- with
    quarter = tl.cdiv(S_q, PARTS)
    for start in range(part * quarter, tl.minimum(S_q, (part + 1) * quarter), BLOCK):
