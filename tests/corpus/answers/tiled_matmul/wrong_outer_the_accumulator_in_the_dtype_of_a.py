# label: wrong
# title: outer, the accumulator in the dtype of A
# says: The accumulator is fp16 where the inputs are.
# names: accumulator in half precision; precision
# base: right_outer_products_without_tl_dot

# --- replace
    acc = tl.zeros((BM, BN), tl.float32)
# --- with
    acc = tl.zeros((BM, BN), A.dtype.element_ty)

# --- replace
        acc += col[:, None] * row[None, :]
# --- with
        acc = (acc + col[:, None] * row[None, :]).to(A.dtype.element_ty)
