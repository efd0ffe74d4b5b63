# label: wrong
# title: dq.to(k.dtype).reshape(1, 1, BM, BD))
# says: The tile that is added is in half precision, the sum in fp32.
# names: crashed
# base: right_one_pass_dq_added_through_descriptor_natural

# --- replace
            DQ.atomic_add([b, h, i0, 0], dq.reshape(1, 1, BM, BD))
# --- with
            DQ.atomic_add([b, h, i0, 0], dq.to(k.dtype).reshape(1, 1, BM, BD))
