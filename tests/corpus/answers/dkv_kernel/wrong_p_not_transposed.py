# label: wrong
# title: p not transposed
# says: `dv += tl.dot(p...)` lacks tl.trans: the tile is square, so the shapes check, but queries and keys are
#   exchanged.
# names: P not transposed
# base: _course_solution_without_markers

# --- replace
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
# --- with
        dv += tl.dot(p.to(do.dtype), do, input_precision="ieee")
