"""Models as files: saved whole or not at all, readable by eye, loaded without executing anything.

A file (``model.cw``) is a zip of JSON documents and npy arrays. What is saved are the parameters
and the fitted fields of a model, by their type annotations; a model of counts learns from them
again, so the same arithmetic gives the same probabilities to the last bit.

::

    files.py     save, load, describe
    codec.py     values as plain JSON and arrays, and back, by their annotations
    archive.py   documents and arrays as a zip with a manifest, and back, with suspicion
"""
