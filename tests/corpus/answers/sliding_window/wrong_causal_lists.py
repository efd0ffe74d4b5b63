# label: wrong
# title: the right mask with causal lists of tiles
# says: The result is right, and tiles outside the window are multiplied all the same.
# names: review
# base: right_by_hooks

# --- replace
    hooks = Hooks(mask=in_window, keys=keys_of, queries=queries_of, extras=(window,))
# --- with
    hooks = Hooks(mask=in_window, keys=causal_keys, queries=causal_queries, extras=(window,))
