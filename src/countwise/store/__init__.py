"""Models as files: saved whole or not at all, readable by eye, loaded without executing anything.

A file (``model.cw``) is a zip of JSON documents and npy arrays. What is saved are the counts, the
schema and the parameters; loading hands them to the model's `restore`, so the same arithmetic gives
the same posteriors to the last bit. A decision tree is saved as it was grown.

::

    files.py     save, load, describe
    states.py    what a saved thing consists of, and the thing again
    models.py    models: parameters, what training left; the list of models
    decided.py   Decide: the rule with its gains, the prior with its correction
    schemas.py   schemas, and the cuts and folds of models that count attributes together
    families.py  which attributes a model chose to count together
    trees.py     decision trees as flat arrays
    tallies.py   counts as arrays with an index, and back
    checks.py    what numbers must hold to be counts
    plain.py     parameters as plain JSON, types kept
    fields.py    reading a document that may hold anything
    packing.py   documents and arrays into a zip with a manifest
    archive.py   the way back, on files nobody vouches for
    npy.py       npy headers, written and read without evaluating them
    flaws.py     what is wrong with a file, in one sentence
    atomic.py    atomic_write: the old file or the new one, never half of it
"""
