# label: right
# title: a flag that is no constant, and a mask by tl.where
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
    CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
# --- with
    CAUSAL, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,

# --- replace
        if CAUSAL:
            seen = seen & (at[None, :] <= m[:, None] + S_k - S_q)
# --- with
        seen = seen & ((CAUSAL == 0) | (at[None, :] <= m[:, None] + S_k - S_q))

# --- replace
        CAUSAL=causal, BM=16, BN=16, BD=BD,
# --- with
        CAUSAL=int(causal), BM=16, BN=16, BD=BD,
