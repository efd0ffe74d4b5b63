# label: wrong
# title: new share rescaled too
# says: `acc = (acc + pv) * rescale[:, None]` rescales the new tile's product as well, which is in the new
#   unit already
# names: old and new are rescaled
# base: _clinic_9_kernel

# --- replace
        acc = acc + pv
# --- with
        acc = (acc + pv) * rescale[:, None]
