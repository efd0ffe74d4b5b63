# label: wrong
# title: no hook for the head of K
# says: K and V are read at the number of the head of Q, and have fewer heads.
# names: K at the number of Q's head; out_of_bounds
# base: right_by_hooks

# --- replace
    hooks = Hooks(key_head=head_of_keys, query_heads=heads_of_queries)
# --- with
    hooks = Hooks(query_heads=heads_of_queries)
