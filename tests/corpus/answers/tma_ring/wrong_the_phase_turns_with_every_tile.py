# label: wrong
# title: The phase turns with every tile.
# says: The phase turns with every tile.
# names: phase is off; the phase turns with every tile
# base: right_all_slots_at_first_filled_again_behind_load_phase_by

# --- replace
        phase = gl.where(s == S, phase ^ 1, phase)
# --- with
        phase = phase ^ 1
