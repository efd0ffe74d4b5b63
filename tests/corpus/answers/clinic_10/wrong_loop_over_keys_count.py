# label: wrong
# title: loop over keys count
# says: the launch still passes S_k, S_q, and the loop was changed to `range(0, S_k, BLOCK)`: rows < S_q and
#   columns < S_k are still compared with the other length
# names: out_of_bounds; out_of_bounds + the smaller of both; out_of_bounds + loop over S_k
# base: _clinic_10_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
    for start in range(0, S_q, BLOCK):
# --- with
    for start in range(0, S_k, BLOCK):
