# label: wrong
# title: c[None, :] < limit[:, None] / m + z
# says: Two mistakes: the mask hides the diagonal, and LSE is m + l.
# names: the diagonal is hidden + LSE is m + l
# base: right_early_return_where_block_sees_nothing_heads_first_in

# --- replace
        s = tl.where(c[None, :] <= limit[:, None], alpha * tl.dot(q, k.T, input_precision="ieee"), float("-inf"))
# --- with
        s = tl.where(c[None, :] < limit[:, None], alpha * tl.dot(q, k.T, input_precision="ieee"), float("-inf"))

# --- replace
    tl.store(lse_at, m + tl.log(z), mask=row_ok)
# --- with
    tl.store(lse_at, m + z, mask=row_ok)
