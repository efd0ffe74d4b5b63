# label: wrong
# title: apply(q, k, v, alpha, causal)
# says: causal and alpha arrive in each other's place.
# names: causal and alpha exchanged
# base: right_the_tutorials_names_base_2_kernels

# --- replace
    return _attention.apply(q, k, v, causal, alpha)
# --- with
    return _attention.apply(q, k, v, alpha, causal)
