# label: wrong
# title: outer, sizes exchanged in the store
# says: The columns are masked with m and the rows with n.
# names: out_of_bounds; never written
# base: right_outer_products_without_tl_dot

# --- replace
    tl.store(C + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))
# --- with
    tl.store(C + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < n) & (j[None, :] < m))
