# label: wrong
# title: Both consumers store the same rows.
# says: Both consumers store the same rows.
# names: both consumers store to the same rows; race; some rows
# base: right_halves_of_one_tile_of_a_ordinary_stores

# --- replace
    i = 128 * gl.program_id(0) + 64 * HALF + gl.arange(0, 64, gl.SliceLayout(1, layout))
# --- with
    i = 128 * gl.program_id(0) + gl.arange(0, 64, gl.SliceLayout(1, layout))
