"""What each method is worth, measured: a file a method, over `redqueen.trials`; `results/` is written by them."""
