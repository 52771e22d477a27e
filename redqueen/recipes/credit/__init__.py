"""One policy, and how the attempts at a task are credited."""
