"""The course: lessons' files, progress, hints, solutions, checks by name, authoring."""
