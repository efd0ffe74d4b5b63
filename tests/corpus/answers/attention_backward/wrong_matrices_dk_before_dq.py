# label: wrong
# title: matrices, dk before dq
# says: dQ and dK are in each other's place.
# names: outputs exchanged; shape
# base: right_einsum_logsumexp_delta_from_o

# --- replace
    return dq, dk, dv
# --- with
    return dk, dq, dv
