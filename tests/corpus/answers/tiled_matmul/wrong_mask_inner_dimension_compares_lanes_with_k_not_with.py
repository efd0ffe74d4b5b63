# label: wrong
# title: ok < K in every step
# says: The mask of the inner dimension compares the lanes with K, not with what is left of K: the last,
#   incomplete step reads beyond the ends of A's rows and B's columns.
# names: inner dimension not masked; out_of_bounds
# base: right_tutorials_grouped_order_rows_columns_wrap_around

# --- replace
        a = tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0)
        b = tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0)
# --- with
        a = tl.load(pa, mask=ok[None, :] < K, other=0.0)
        b = tl.load(pb, mask=ok[:, None] < K, other=0.0)
