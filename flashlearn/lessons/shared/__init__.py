"""What two or more lessons need."""
