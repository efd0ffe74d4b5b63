# label: wrong
# title: DQ.store(
# says: dQ is stored where it must be added.
# names: race
# base: right_one_pass_dq_added_through_descriptor_natural

# --- replace
            DQ.atomic_add([b, h, i0, 0], dq.reshape(1, 1, BM, BD))
# --- with
            DQ.store([b, h, i0, 0], dq.reshape(1, 1, BM, BD))
