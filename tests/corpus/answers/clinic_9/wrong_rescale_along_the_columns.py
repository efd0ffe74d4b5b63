# label: wrong
# title: rescale along the columns
# says: acc * rescale without [:, None] broadcasts the row factors along the columns of acc, as NumPy would
#   (BLOCK = D = 16 lets it pass, other D do not fit); it must be acc * rescale[:, None] + pv.
# names: crashed
# base: _clinic_9_kernel

# --- replace
        acc = acc + pv
# --- with
        acc = acc * rescale + pv
