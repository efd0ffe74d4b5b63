# label: wrong
# title: rows, other=-1e4
# says: Padding of −10⁴ is no −inf: in a row of nothing but −inf it is the maximum.
# names: a finite number for −inf
# base: right_four_rows_per_program

# --- replace
        x = tl.load(X + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n, mask=ok, other=float("-inf"))
# --- with
        x = tl.load(X + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n, mask=ok, other=-1.0e4)
