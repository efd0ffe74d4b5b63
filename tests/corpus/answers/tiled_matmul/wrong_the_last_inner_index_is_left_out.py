# label: wrong
# title: outer, range(k - 1)
# says: The last inner index is left out.
# names: last element of K left out
# base: right_outer_products_without_tl_dot

# --- replace
    for t in range(k):
# --- with
    for t in range(k - 1):
