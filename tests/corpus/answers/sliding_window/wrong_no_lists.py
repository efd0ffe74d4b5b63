# label: wrong
# title: the right mask and all tiles
# says: The result is right, and all tiles are multiplied.
# names: review
# base: right_by_hooks

# --- replace
    hooks = Hooks(mask=in_window, keys=keys_of, queries=queries_of, extras=(window,))
# --- with
    hooks = Hooks(mask=in_window, extras=(window,))
