"""The sandbox in which a student's code runs: what it may see, use and reach, and how much of it."""
