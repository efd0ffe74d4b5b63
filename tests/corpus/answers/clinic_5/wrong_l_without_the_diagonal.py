# label: wrong
# title: l without the diagonal
# says: p is masked before acc and l, and l by one key too many.
# names: one key too few in l; rows do not sum to 1
# base: _clinic_5_kernel

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)
# --- with
        own = columns[None, :] < rows[:, None] + S_k - S_q
        l_i = l_i * rescale + tl.sum(tl.where(own, p, 0.0), axis=1)
