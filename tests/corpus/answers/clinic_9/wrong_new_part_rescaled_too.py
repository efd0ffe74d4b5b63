# label: wrong
# title: new part rescaled too
# says: line acc = (acc + pv) * rescale: the new tile is already in the new unit and must not be multiplied
# names: old and new are rescaled
# base: _clinic_9_kernel

# --- replace
        acc = acc + pv
# --- with
        acc = (acc + pv) * rescale[:, None]
