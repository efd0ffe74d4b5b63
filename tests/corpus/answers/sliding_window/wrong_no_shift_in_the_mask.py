# label: wrong
# title: the mask is aligned top-left
# says: S_k − S_q is missing from the mask.
# names: top-left alignment
# base: right_by_hooks

# --- replace
    distance = i + (S_k - S_q) - j
# --- with
    distance = i - j

# --- replace
    begin = first + shift - (extras[0] - 1)
    end = last + shift + 1
    return tl.maximum(begin, 0), tl.minimum(end, S_k)
# --- with
    return 0, S_k

# --- replace
    begin = first - shift
    end = last - shift + extras[0]
    return tl.maximum(begin, 0), tl.minimum(end, S_q)
# --- with
    return 0, S_q
