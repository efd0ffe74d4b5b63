# label: wrong
# title: names swapped at the unpacking
# says: the swap is undone where shapes are unpacked ((S_k, D), S_q = q.shape, k.shape[0]), so the kernel gets
#   its numbers right but the grid is cdiv(number of queries, BLOCK): with more keys than queries the last
#   blocks of dK and dV are never written.
# names: never written
# base: _clinic_10_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
# --- with
    (S_k, D), S_q, BLOCK = q.shape, k.shape[0], 16
