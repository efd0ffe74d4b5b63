# label: wrong
# title: P masked twice
# says: P is masked twice, and the second mask is aligned top-left; dS is made as it should be.
# names: mask aligned top-left; first divergence; diagonal tiles
# base: _course_solution

# --- replace
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
# --- with
        p = tl.where(columns[None, :] <= rows[:, None], p, 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
