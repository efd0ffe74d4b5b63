# label: right
# title: dropout's hook in every case, also for p = 0
# base: _as_taught

# --- replace
    if p:
        changed |= {"weights": any_weights}
# --- with
    changed |= {"weights": any_weights}
