"""One policy without labels: what is right is what the model itself, or several, say most often or judge so."""
