# label: wrong
# title: rows, no other=
# says: The load needs other=: what padded lanes hold enters the maximum and the sum.
# names: masked load without other
# base: right_two_rows_per_program_powers_of_two

# --- replace
    x = tl.load(x_ptr + m[:, None] * sxm + n[None, :] * sxn, mask=keep, other=float("-inf")).to(tl.float32)
# --- with
    x = tl.load(x_ptr + m[:, None] * sxm + n[None, :] * sxn, mask=keep).to(tl.float32)
