# label: wrong
# title: One tile more is asked for than there are slots.
# says: One tile more is asked for than there are slots.
# names: expected again; one tile too many before the loop; filled again while it arrives
# base: right_a_while_loop_and_five_slots

# --- replace
    for s in gl.static_range(S - 1):
# --- with
    for s in gl.static_range(S):
