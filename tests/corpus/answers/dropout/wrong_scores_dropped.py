# label: wrong
# title: scores are dropped, not weights
# says: The hook is given to `score`: dropped scores become 0, and LSE is that of what is left.
# names: one edit; scores dropped, not weights
# base: _as_taught

# --- replace
    hooks = Hooks(weights=kept_weights, extras=(p, seed, q.shape[1]))
# --- with
    hooks = Hooks(score=kept_weights, extras=(p, seed, q.shape[1]))
