# label: wrong
# title: alpha on both
# says: line dv *= alpha: dV is scaled by alpha like dK, but O = P V has no alpha
# names: alpha on dV
# base: wrong_lse_padding_minus_inf

# --- replace
        lse = tl.load(lse_ptr + qi, mask=q_in, other=-float("inf"))
# --- with
        lse = tl.load(lse_ptr + qi, mask=q_in, other=float("inf"))

# --- replace
    dk_tile = kj[:, None] * dk_row + d[None, :] * dk_col
# --- with
    dv *= alpha
    dk_tile = kj[:, None] * dk_row + d[None, :] * dk_col
