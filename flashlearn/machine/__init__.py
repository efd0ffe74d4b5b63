"""What this machine is: which GPU it has, what GPUs can do, and how many threads torch takes."""
