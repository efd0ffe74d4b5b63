# label: wrong
# title: unseen: exp2 with a natural LSE
# says: The exponential is to base 2 and LSE is natural: it must be multiplied by log2(e) first.
# names: LSE read as base 2
# launcher: dq_kernel
# base: _dq_base_2

# --- replace
    M = lse.contiguous() * RCP_LN2
# --- with
    M = lse.contiguous()
