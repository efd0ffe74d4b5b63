# label: right
# title: contiguous shares of the queries instead of every fourth tile
# base: _clinic_3_kernel

# --- replace
    for start in range(0, S_q, BLOCK):
# --- with
    share = tl.cdiv(S_q, PARTS * BLOCK) * BLOCK
    for start in range(part * share, tl.minimum(S_q, (part + 1) * share), BLOCK):
