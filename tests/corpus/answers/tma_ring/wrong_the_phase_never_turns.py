# label: wrong
# title: The phase never turns.
# says: The phase never turns.
# names: phase is off; the phase never turns
# base: right_all_slots_at_first_filled_again_behind_load_phase_by

# --- replace
        phase = gl.where(s == S, phase ^ 1, phase)
# --- with
