# label: wrong
# title: three passes, no maximum
# says: The maximum is not subtracted: exp overflows for scores beyond 88.
# names: maximum not subtracted; overflow
# base: right_three_passes_over_memory_in_blocks_of_16

# --- replace
        denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)
# --- with
        denom += tl.sum(tl.exp(x.to(tl.float32)), axis=0)

# --- replace
        y = tl.exp(x.to(tl.float32) - biggest) / denom
# --- with
        y = tl.exp(x.to(tl.float32)) / denom
