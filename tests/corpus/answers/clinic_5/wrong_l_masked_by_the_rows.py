# label: wrong
# title: l masked by the rows
# says: The sum is masked after it was added up: l is masked by its own query.
# names: mask applied after l is summed
# base: _clinic_5_kernel

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)
# --- with
        l_i = tl.where(rows < S_q, l_i * rescale + tl.sum(p, axis=1), 0.0)
