# label: wrong
# title: loop, dk = instead of dk +=
# says: dK is overwritten by each query; it is a sum over queries.
# names: only the last tile
# base: right_a_loop_over_the_queries_outer_products

# --- replace
        dk += alpha * torch.outer(ds, q[i])
# --- with
        dk = alpha * torch.outer(ds, q[i])
