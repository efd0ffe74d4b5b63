# label: wrong
# title: The phase never turns.
# says: The phase never turns.
# names: phase is off; the phase never turns
# base: right_one_slot_every_product_waited_for_use_acc_from

# --- replace
        phase ^= 1
# --- with
