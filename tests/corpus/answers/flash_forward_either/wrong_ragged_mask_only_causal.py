# label: wrong
# title: ragged mask only causal
# says: the mask of keys beyond S_k stands inside `if IS_CAUSAL:` together with the causal one; without causal
#   the padded keys count.
# names: padded keys are not masked
# base: _course_solution_without_markers

# --- replace
        s = tl.where(in_keys[None, :], s, -float("inf"))
        if IS_CAUSAL:
# --- with
        if IS_CAUSAL:
            s = tl.where(in_keys[None, :], s, -float("inf"))
