"""Posteriors become decisions: rules, the gain matrix, and what a rule earns on data.

A decision rule is a function f_d(c) >= 0 that sums to one over the decisions c (Panda and Garg,
eq. 2). Argmax, the roulette wheel and the best expected gain are three such functions, so the
accuracy and the gain of any of them are exact sums over the rows; nothing need be drawn.

::

    gain.py          GainMatrix: what each decision earns when each class is the true one
    sources.py       the ways a gain matrix comes in: a file, a dict, a frame, an array
    gain_checks.py   what its labels and cells must be
    remarks.py       what it says in words
    rules.py         Argmax, RouletteWheel, ExpectedGain: posteriors in, shares of decisions out
    expectations.py  expected accuracy, expected gain, promised gain of any rule, without sampling
    confusion.py     Confusion: the joint probabilities of true class and decision
    decide.py        Decide(model, rule): the rule over our models and anyone's classifier
    training.py      the class shares a model was trained on, and another prior's correction
    labels.py        which label is which
    priors.py        class shares as a user states them
"""
