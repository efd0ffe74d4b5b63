# label: wrong
# title: one slot too far
# says: `later = i + STAGES` asks for a tile into the slot of tile i, which has not been read yet, and tile
#   STAGES − 1 is never asked for.
# names: deadlock
# base: right_phase_by_bits

# --- replace
        later = i + STAGES - 1
# --- with
        later = i + STAGES
