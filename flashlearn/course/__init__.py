"""The course on disk and in time: files, progress, hints, checks by name, authoring."""
