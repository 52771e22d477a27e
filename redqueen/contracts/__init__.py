"""Properties that every shipped part has, as functions that users can run over parts of their own."""
