"""Right or wrong, and whose work: what came back is compared with the truth."""
