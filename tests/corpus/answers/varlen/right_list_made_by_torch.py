# label: right
# title: the list is made by torch, without a wait
# base: _as_taught

# --- replace
    borders = cu_seqlens.tolist()
    lengths = [borders[b + 1] - borders[b] for b in range(len(borders) - 1)]
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
    return torch.tensor(blocks, dtype=torch.int32, device=cu_seqlens.device)
# --- with
    counts = (cu_seqlens[1:] - cu_seqlens[:-1] + BLOCK - 1) // BLOCK
    own = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
    first = (counts.cumsum(0) - counts)[own]
    block = torch.arange(len(own), device=counts.device) - first
    return torch.stack([block, own], dim=1).to(torch.int32).contiguous()
