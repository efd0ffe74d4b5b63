# label: right
# title: q is scaled right after its load, in its own dtype: one rounding more
# base: _course_solution

# --- replace
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
# --- with
    q = (q * alpha).to(q.dtype)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)

# --- replace
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
# --- with
        s = tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
