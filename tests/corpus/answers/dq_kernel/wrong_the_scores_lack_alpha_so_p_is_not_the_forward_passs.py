# label: wrong
# title: input_precision="ieee") - lse[None, :]
# says: The scores lack alpha, so P is not the forward pass's.
# names: alpha is missing from S
# base: right_one_program_per_pair_tiles_dq_added_atomically_in

# --- replace
    pT = tl.exp(tl.dot(kt, qt, input_precision="ieee") * scale - lse[None, :])
# --- with
    pT = tl.exp(tl.dot(kt, qt, input_precision="ieee") - lse[None, :])
