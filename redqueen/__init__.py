"""Red Queen: self-play post-training of language models.

A training step is five verbs over plain data: play, score, estimate, pack, update. `redqueen.types`
holds the nouns, `redqueen.protocols` the verbs, `redqueen/recipes/` one published method a file or folder.
"""

__version__ = "0.1.0"
