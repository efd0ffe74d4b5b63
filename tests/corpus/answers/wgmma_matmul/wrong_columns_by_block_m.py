# label: wrong
# title: columns counted by BLOCK_M
# says: The program's first column is its number times BLOCK_M: right with square tiles only.
# names: review
# base: _course_solution_without_markers

# --- replace
    m, n = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
# --- with
    m, n = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_M
