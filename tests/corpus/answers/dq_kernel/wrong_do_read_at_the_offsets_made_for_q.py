# label: wrong
# title: do read at the offsets made for q
# says: dO is read at offsets made of q's strides. It has strides of its own, which no line uses.
# names: first divergence; unused strides
# base: _course_solution

# --- replace
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
# --- with
    along, across = rows[:, None] * q_row, d[None, :] * q_col
    do = tl.load(do_ptr + along + across, mask=in_block, other=0.0)
