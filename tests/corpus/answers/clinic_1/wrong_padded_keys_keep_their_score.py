# label: wrong
# title: padded keys keep their score
# says: The scores of padded keys are 0 and not −∞: exp(0 − LSE) overflows where LSE is low, and ∞ · 0 makes dQ
#   NaN.
# names: padded keys get a probability
# base: right_alpha_multiplied_on_in_every_step

# --- replace
        s = tl.where(in_keys[None, :], s, -float("inf"))
# --- with
        s = s + 0.0
