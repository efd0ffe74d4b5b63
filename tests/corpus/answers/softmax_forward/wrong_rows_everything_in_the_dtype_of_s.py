# label: wrong
# title: rows, everything in the dtype of s
# says: The exponentials are summed in half precision.
# names: sum in half precision; precision
# base: right_two_rows_per_program_powers_of_two

# --- replace
    x = tl.where(m[:, None] < M, x, 0.0)  # rows that do not exist stay finite
# --- with
    dt = x_ptr.dtype.element_ty
    x = tl.where(m[:, None] < M, x, 0.0)  # rows that do not exist stay finite

# --- replace
    num = tl.exp2(x - top)
    den = tl.sum(num, axis=1)[:, None]
    tl.store(y_ptr + m[:, None] * sym + n[None, :] * syn, num / den, mask=keep)
# --- with
    num = tl.exp2(x - top).to(dt)
    den = tl.sum(num, axis=1)[:, None]
    tl.store(y_ptr + m[:, None] * sym + n[None, :] * syn, (num / den).to(dt), mask=keep)
