# label: wrong
# title: the head of K is a remainder
# says: Heads of a group are adjacent: h // (H // H_k), not h % H_k.
# names: heads dealt round
# base: right_by_hooks

# --- replace
    return h // size
# --- with
    return h % H_k
