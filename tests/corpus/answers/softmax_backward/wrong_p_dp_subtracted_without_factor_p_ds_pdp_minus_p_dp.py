# label: wrong
# title: p2 * g2 - inner
# says: ⟨p, dp⟩ is subtracted without its factor p: ds = p∘dp − ⟨p, dp⟩.
# names: p on dp alone
# base: _dsoftmax

# --- replace
        tl.store(DS + r * width + c, p2 * g2 - p2 * inner, mask=c < width)
# --- with
        tl.store(DS + r * width + c, p2 * g2 - inner, mask=c < width)
