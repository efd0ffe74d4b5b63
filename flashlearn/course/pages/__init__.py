"""What the course shows of itself: where a learner stands, as text and HTML, and the page to start from."""
