# label: wrong
# title: the distance has no sign
# says: Keys after the own place are seen too, where the lists of tiles have them.
# names: window on both sides; no causal side; one key ahead
# base: right_by_hooks

# --- replace
    return (distance >= 0) & (distance < extras[0])
# --- with
    return tl.abs(distance) < extras[0]

# --- replace
    end = last + shift + 1
# --- with
    end = last + shift + extras[0]

# --- replace
    begin = first - shift
# --- with
    begin = first - shift - extras[0] + 1
