"""One side learns to deceive or to attack, the other to notice and to refuse."""
