# label: wrong
# title: The phase never turns.
# says: The phase never turns.
# names: phase is off
# base: right_few_programs_walk_over_all_tiles

# --- replace
        phase = phase ^ 1
# --- with
        phase = 0
