# label: wrong
# title: divided by the heads of K
# says: A head of K serves H // H_k heads of Q, and the head's number is divided by H_k instead.
# names: divided by the number of heads of K
# base: right_by_hooks

# --- replace
    return h // size
# --- with
    return h // H_k
