"""From notebooks that were handed in to submissions: whose files are whose, and what of them is an answer."""
