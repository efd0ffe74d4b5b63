"""The learner's function runs here, and nowhere else; what was seen comes back as plain data."""
