"""Where teachers already are: the gradebook's results, and a writer for each place that takes them."""
