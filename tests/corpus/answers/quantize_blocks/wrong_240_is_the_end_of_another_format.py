# label: wrong
# title: 240 is the end of another format.
# says: 240 is the end of another format.
# names: scaled to 240
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    inv = tl.where(top > 0, 448.0 / top, 1.0)
    tl.store(Y + i * N + j, (x * inv).to(Y.dtype.element_ty), mask=ok)
    tl.store(S + tl.program_id(0) * tl.cdiv(N, BN) + tl.program_id(1), tl.where(top > 0, top / 448.0, 1.0))
# --- with
    inv = tl.where(top > 0, 240.0 / top, 1.0)
    tl.store(Y + i * N + j, (x * inv).to(Y.dtype.element_ty), mask=ok)
    tl.store(S + tl.program_id(0) * tl.cdiv(N, BN) + tl.program_id(1), tl.where(top > 0, top / 240.0, 1.0))
