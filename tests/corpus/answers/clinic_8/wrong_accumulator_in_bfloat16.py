# label: wrong
# title: accumulator in bfloat16
# says: `acc = tl.zeros((BLOCK, D), tl.bfloat16)` has the range and not the precision: the sum is rounded to 8
#   bits after every tile, in fp32 inputs as well.
# names: the accumulator is in bf16
# base: _clinic_8_kernel

# --- replace
    acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)
# --- with
    acc = tl.zeros((BLOCK, D), tl.bfloat16)
