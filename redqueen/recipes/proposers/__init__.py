"""A model writes the tasks on which it or another learns."""
