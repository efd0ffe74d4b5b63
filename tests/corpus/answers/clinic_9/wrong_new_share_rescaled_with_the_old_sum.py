# label: wrong
# title: new share rescaled with the old sum
# says: `acc = (acc + pv) * rescale[:, None]` adds before it rescales: the new tile's share is already in the
#   new unit.
# names: old and new are rescaled
# base: _clinic_9_kernel

# --- replace
        acc = acc + pv
# --- with
        acc = (acc + pv) * rescale[:, None]
