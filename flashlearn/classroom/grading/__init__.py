"""From a submission to its grade: which cells run, who judges, how it is timed."""
