"""Pages of the course: a learner's progress as text and HTML, recall questions, the page to start from."""
