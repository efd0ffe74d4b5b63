# label: wrong
# title: accumulator in bf16
# says: acc = tl.zeros(…, tl.bfloat16) has the range but only 8 bits of precision (and acc is cast to it in
#   each round): no inf any more, yet O is off in the third digit, in fp32 too; it must be tl.float32.
# names: the accumulator is in bf16
# base: _clinic_8_kernel

# --- replace
    acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)
# --- with
    acc = tl.zeros((BLOCK, D), tl.bfloat16)  # range of fp32: cannot overflow
