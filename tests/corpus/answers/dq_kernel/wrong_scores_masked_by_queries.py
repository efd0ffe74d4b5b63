# label: wrong
# title: scores masked by queries
# says: s is masked by the queries, where the padded keys must be hidden: their P is exp(-LSE), which overflows.
# names: one edit; padded keys get a probability
# base: _course_solution_without_markers

# --- replace
        s = tl.where(in_keys[None, :], s, -float("inf"))  # exp(0 - lse) of a padded key may overflow
# --- with
        s = tl.where(in_queries[:, None], s, -float("inf"))
