"""Paired trials of variants over seeds: what experiments are made of, those shipped and a user's own.

    EXPERIMENT = Experiment(
        title="Kuhn poker, tabular",
        asked="Does the last iterate of magnetic mirror descent lose less than that of SPIRAL?",
        trial=Training(magnetic.train),
        config=magnetic.Config(steps=400),
        variants={"magnetic": {}, "pull left uniform": {"magnet_every": 0}},
        figures=("exploitability",),
        compared=versus("magnetic", ("pull left uniform",), ("exploitability",)),
        controls=("pull left uniform",),
    )

| module | what it holds |
|---|---|
| `experiment` | `Experiment`, `Table`, what is compared |
| `starts` | warm starts, which are never shown the problems that measure |
| `shipped` | the experiments of a file, by name, and which files are shipped |
| `kept` | finished work as files, reused while the modules that it imported are unchanged |
| `one_seed` | one seed of one variant, in a process of its own |
| `paired` | all seeds of all variants |
| `pages` | what was asked, shown and not shown, as Markdown |
| `running` | runs the experiments of a file and writes their page |
"""
