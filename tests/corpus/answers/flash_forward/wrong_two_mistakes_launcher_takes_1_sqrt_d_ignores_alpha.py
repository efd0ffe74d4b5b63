# label: wrong
# title: unseen: 1/sqrt(D) for alpha, LSE without m
# says: Two mistakes: the launcher takes 1/sqrt(D) and ignores alpha, and the LSE is log l without the
#   maximum.
# names: LSE without m; alpha's sign is lost + LSE without m
# base: _flattened

# --- replace
    lse = running_max + tl.log(running_sum)
# --- with
    lse = tl.log(running_sum)

# --- replace
    scale = alpha
# --- with
    scale = 1.0 / math.sqrt(head_dim)
