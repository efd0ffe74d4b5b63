# label: wrong
# title: dsT = dsT.to(tl.float16).to(qT.dtype)
# says: dS goes through fp16 whatever the inputs are.
# names: precision; dS cast to fp16; one edit
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        dsT = dsT.to(qT.dtype)
# --- with
        dsT = dsT.to(tl.float16).to(qT.dtype)
