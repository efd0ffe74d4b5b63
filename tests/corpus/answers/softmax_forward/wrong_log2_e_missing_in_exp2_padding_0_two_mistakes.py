# label: wrong
# title: rows, exp2 of natural scores and other=0
# says: log2 e is missing in exp2, and padding is 0: two mistakes.
# names: powers of two + padding enters the sum
# base: right_two_rows_per_program_powers_of_two

# --- replace
    x = tl.load(x_ptr + m[:, None] * sxm + n[None, :] * sxn, mask=keep, other=float("-inf")).to(tl.float32)
    x = tl.where(m[:, None] < M, x, 0.0)  # rows that do not exist stay finite
    x = x * 1.4426950408889634
# --- with
    x = tl.load(x_ptr + m[:, None] * sxm + n[None, :] * sxn, mask=keep, other=0.0).to(tl.float32)
    x = tl.where(m[:, None] < M, x, 0.0)  # rows that do not exist stay finite
