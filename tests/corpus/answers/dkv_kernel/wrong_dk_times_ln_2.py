# label: wrong
# title: unseen: dk times ln 2
# says: dK is multiplied by ln 2 as well: that factor belongs where K was scaled by log2(e), and dS was not.
# names: constant factor
# launcher: dkv_kernel
# base: _dkv_transposed

# --- replace
    dk *= sm_scale
# --- with
    dk *= sm_scale * 0.6931471824645996
