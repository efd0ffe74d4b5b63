# label: wrong
# title: unseen: no guard in the while loop
# says: A query that saw nothing has LSE -inf, and exp(-inf + inf) is NaN: it spoils every key of the block.
# names: no guard for queries that see nothing; inf minus inf
# base: _dkv_while

# --- replace
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
# --- with
