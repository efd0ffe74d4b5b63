# label: wrong
# title: only the loop bound
# says: `for start in range(0, S_k, BLOCK)` mends the symptom in the kernel; the launcher still passes S_k,
#   S_q exchanged, so both masks are against the wrong length.
# names: out_of_bounds; the smaller of both; out_of_bounds + loop over S_k
# base: _clinic_10_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
    for start in range(0, S_q, BLOCK):
# --- with
    for start in range(0, S_k, BLOCK):
