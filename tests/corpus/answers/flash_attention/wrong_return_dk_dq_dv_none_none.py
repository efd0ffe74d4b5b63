# label: wrong
# title: return dk, dq, dv, None, None
# says: The gradients of q and k come back in each other's place.
# names: outputs exchanged; crashed
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        return dq, dk, dv, None, None
# --- with
        return dk, dq, dv, None, None
