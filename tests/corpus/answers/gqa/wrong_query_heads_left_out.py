# label: wrong
# title: no hook for the heads of Q
# says: Only one head of the group has a share in dK and dV: the plain hook names head h_k.
# names: one head of the group
# base: right_by_hooks

# --- replace
    hooks = Hooks(key_head=head_of_keys, query_heads=heads_of_queries)
# --- with
    hooks = Hooks(key_head=head_of_keys)
