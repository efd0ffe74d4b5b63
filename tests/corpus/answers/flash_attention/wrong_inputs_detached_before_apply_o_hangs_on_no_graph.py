# label: wrong
# title: apply(q.detach(), k.detach(), v.detach(), causal, alpha)
# says: The inputs are detached before apply: o hangs on no graph.
# names: nothing to differentiate
# base: right_the_tutorials_names_base_2_kernels

# --- replace
    return _attention.apply(q, k, v, causal, alpha)
# --- with
    return _attention.apply(q.detach(), k.detach(), v.detach(), causal, alpha)
