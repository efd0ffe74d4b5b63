# label: wrong
# title: The slot is filled again before it is read.
# says: The slot is filled again before it is read.
# names: refilled before read; filled again before it is read
# base: right_all_slots_at_first_filled_again_behind_load_phase_by

# --- replace
        v = buf.index(s).load(layout)
# --- with

# --- replace
        acc += gl.sum(v.to(gl.float32), axis=1)
# --- with
        v = buf.index(s).load(layout)
        acc += gl.sum(v.to(gl.float32), axis=1)
