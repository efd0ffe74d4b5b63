# label: wrong
# title: dv of the unmasked P
# says: dV is summed from the P that was not masked; dK is right.
# names: mask forgotten; leak from the future
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        pT = tl.where(keep, pT, 0.0)
# --- with
        pT_all = tl.where(mmask[None, :], pT, 0.0)
        pT = tl.where(keep, pT, 0.0)

# --- replace
        ppT = pT
# --- with
        ppT = pT_all
