# label: wrong
# title: the batch is its number plus its quotient by H
# says: b is program_id(2) + program_id(2) // H: right as long as B is at most H.
# names: out_of_bounds; one edit
# base: right_keys_loaded_transposed

# --- replace
    b = (tl.program_id(2) + tl.program_id(1) // H).to(tl.int64)
# --- with
    b = (tl.program_id(2) + tl.program_id(2) // H).to(tl.int64)
