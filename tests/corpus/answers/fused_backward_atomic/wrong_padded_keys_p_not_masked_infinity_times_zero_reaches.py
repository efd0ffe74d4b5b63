# label: wrong
# title: seen = columns[None, :] >= 0
# says: A padded key's P is not masked, and infinity times zero reaches dQ.
# names: padded keys get a probability; zero times inf
# base: _course_solution

# --- replace
        seen = in_keys[None, :]  # a padded key's P may be infinite, and ∞ · 0 would reach dQ
# --- with
        seen = columns[None, :] >= 0  # a padded key's P may be infinite, and ∞ · 0 would reach dQ
