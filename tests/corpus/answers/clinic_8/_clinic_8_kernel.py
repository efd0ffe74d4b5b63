# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
    acc = tl.zeros((BLOCK, D), tl.float32)
# --- with
    acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)
