# label: wrong
# title: only do is masked
# says: only the load of do is masked to 0 for rows from S_q on: dV is right, but in the padded rows ds = p ·
#   (0 − delta of the last query) is not 0 and meets the last q, so dK is wrong (p must be 0 there).
# names: only dO is masked
# base: _clinic_4_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
        do = tl.load(do_ptr + query_tile)
# --- with
        do = tl.load(do_ptr + query_tile, mask=(rows < S_q)[:, None], other=0.0)  # 0 · anything adds nothing
