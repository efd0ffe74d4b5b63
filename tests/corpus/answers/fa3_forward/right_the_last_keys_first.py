# label: right
# title: the last keys first
# base: right_one_partition_does_all_one_slot_natural_exponentials

# --- replace
    for start in range(0, S_k, BLOCK):
# --- with
    for back in range(gl.cdiv(S_k, BLOCK)):
        start = (gl.cdiv(S_k, BLOCK) - 1 - back) * BLOCK
