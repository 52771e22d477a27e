"""Worlds: states that only their own rules change, and tasks that are judged by the final state."""
