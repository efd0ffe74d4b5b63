# label: wrong
# title: the mask is causal and has no window
# says: Keys older than the window are seen.
# names: no window
# base: right_by_hooks

# --- replace
    return (distance >= 0) & (distance < extras[0])
# --- with
    return distance >= 0

# --- replace
    begin = first + shift - (extras[0] - 1)
# --- with
    begin = 0

# --- replace
    end = last - shift + extras[0]
# --- with
    end = S_q
