# label: wrong
# title: lse_ptr + i for every head
# says: LSE has no offset of its head: all heads write the same rows.
# names: race
# base: wrong_normalised_as_in_the_first_paper

# --- replace
        acc = acc * (beta / ell_new)[:, None]  # the old l is missing here
# --- with
        acc = acc * (beta * ell / ell_new)[:, None]  # the old l is missing here

# --- replace
    tl.store(lse_ptr + bh * S_q + i, m + tl.log(ell), mask=i < S_q)
# --- with
    tl.store(lse_ptr + i, m + tl.log(ell), mask=i < S_q)
