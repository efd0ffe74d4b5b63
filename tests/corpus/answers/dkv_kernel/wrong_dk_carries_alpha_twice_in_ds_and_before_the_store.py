# label: wrong
# title: tl.store(dk_ptr + at_j, dk * alpha, mask=ok_j)
# says: dK carries alpha twice: in dS and before the store.
# names: alpha applied twice to dK
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
    tl.store(dk_ptr + at_j, dk, mask=ok_j)
# --- with
    tl.store(dk_ptr + at_j, dk * alpha, mask=ok_j)
