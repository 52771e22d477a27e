"""Which of the given problems to train on is learned too."""
