# label: wrong
# title: rows, other=0
# says: Padding of 0 counts as scores of 0.
# names: padding enters the sum
# base: right_four_rows_per_program

# --- replace
        x = tl.load(X + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n, mask=ok, other=float("-inf"))
# --- with
        x = tl.load(X + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n, mask=ok, other=0.0)
