# label: wrong
# title: dO with the rows and columns of Q
# says: dO is read with the strides of Q.
# names: first divergence
# base: _course_solution

# --- replace
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
# --- with
        do = tl.load(do_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
