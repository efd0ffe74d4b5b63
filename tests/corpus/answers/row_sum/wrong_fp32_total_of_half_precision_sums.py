# label: wrong
# title: fp32 total of half-precision sums
# says: Each tile is added up in half precision before it joins the fp32 total.
# names: summed in half precision; precision; one edit
# base: _rows

# --- replace
        tile = tl.load(inp + r[:, None] * sr + c[None, :] * sc, mask=live, other=0).to(tl.float32)
# --- with
        tile = tl.load(inp + r[:, None] * sr + c[None, :] * sc, mask=live, other=0)
