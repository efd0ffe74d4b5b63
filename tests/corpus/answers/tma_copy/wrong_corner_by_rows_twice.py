# label: wrong
# title: both coordinates by the tile's rows
# says: The corner's column is a multiple of the tile's rows: right with square tiles only.
# names: review
# base: _course_solution_without_markers

# --- replace
    corner = [gl.program_id(0) * rows, gl.program_id(1) * columns]
# --- with
    corner = [gl.program_id(0) * rows, gl.program_id(1) * rows]
