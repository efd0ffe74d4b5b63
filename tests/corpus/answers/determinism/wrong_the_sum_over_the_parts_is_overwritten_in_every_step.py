# label: wrong
# title: dq = tl.load(shares_ptr
# says: The sum over the parts is overwritten in every step.
# names: only the last part remains; only the last tile
# base: _course_solution

# --- replace
        dq += tl.load(shares_ptr + dq_tile, mask=in_block, other=0.0)
# --- with
        dq = tl.load(shares_ptr + dq_tile, mask=in_block, other=0.0)
