# label: wrong
# title: q.mul_(softmax_scale) kernel = split_loops / kernel(q, k, v, 1.0)
# says: q is scaled in place: the caller's tensor changes.
# names: changed input
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        kernel = split_loops if is_causal else fwd_tutorial
        out, lse = kernel(q, k, v, softmax_scale)
# --- with
        q.mul_(softmax_scale)
        kernel = split_loops if is_causal else fwd_tutorial
        out, lse = kernel(q, k, v, 1.0)
