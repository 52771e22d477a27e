"""A policy plays games against itself, its past or a league."""
