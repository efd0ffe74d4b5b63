"""What students and teachers read: the only room of the classroom that renders."""
