# label: wrong
# title: acc in C's dtype, K // BK steps
# says: Two mistakes: the sum is carried in C's half precision, and the last, incomplete step along K is left
#   out.
# names: accumulator in half precision + last block of K left out
# base: right_tutorials_grouped_order_rows_columns_wrap_around

# --- replace
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
# --- with
    acc = tl.zeros((BM, BN), dtype=C.dtype.element_ty)
    for k in range(0, K // BK):

# --- replace
        acc = tl.dot(a, b, acc, input_precision="ieee")
# --- with
        acc += tl.dot(a, b, input_precision="ieee").to(acc.dtype)
