"""The pages for students and teachers: the only package of the classroom that renders."""
