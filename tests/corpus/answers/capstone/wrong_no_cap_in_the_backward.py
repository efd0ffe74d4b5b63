# label: wrong
# title: the cap has no derivative
# says: The derivative of the cap is not in the backward pass.
# names: one edit; no derivative of the cap
# base: _as_taught

# --- replace
        changed |= {"score": capped_and_sloped_score, "score_gradient": any_gradient}
# --- with
        changed |= {"score": capped_and_sloped_score}
