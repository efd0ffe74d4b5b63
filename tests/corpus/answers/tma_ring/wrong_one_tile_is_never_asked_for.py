# label: wrong
# title: One tile is never asked for.
# says: One tile is never asked for.
# names: deadlock; one tile too few before the loop
# base: right_a_while_loop_and_five_slots

# --- replace
    for s in gl.static_range(S - 1):
# --- with
    for s in gl.static_range(S - 2):
