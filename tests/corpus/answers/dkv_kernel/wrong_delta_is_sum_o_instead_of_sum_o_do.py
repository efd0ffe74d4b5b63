# label: wrong
# title: tl.sum(o.to(tl.float32), axis=1)
# says: delta is Σ O instead of Σ O dO.
# names: delta from O alone
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
# --- with
        delta = tl.sum(o.to(tl.float32), axis=1)
