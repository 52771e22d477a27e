"""A policy learns from which of two replies is preferred."""
