# label: wrong
# title: fused backward rows
# says: Programs own queries, not keys.
# names: review
# base: fused_backward_rows/_course_solution
