# label: wrong
# title: bf16 has the range
# says: `acc = tl.zeros((BLOCK, D), tl.bfloat16)` has the range and 8 bits of precision; the accumulator must
#   be fp32
# names: the accumulator is in bf16
# base: _clinic_8_kernel

# --- replace
    acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)
# --- with
    acc = tl.zeros((BLOCK, D), tl.bfloat16)  # no overflow: the range of fp32
