"""The room in which a stranger's code runs: what it may see, use and reach, and how much of it."""
