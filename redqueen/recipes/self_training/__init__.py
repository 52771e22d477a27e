"""A model learns from its own or from given answers, and to correct them."""
