"""PAGES: what was found, for people and for machines.

::

    facts.py      comparison_facts, inspect_facts: plain, JSON-able, versioned
    columns.py    the data section: kinds, levels, missing cells, balance, what is dropped
    standings.py  ranking, differences, confusion, gain, learning curve
    why.py        what a fitted model can be understood by: the parts below, by its kind
    shares.py     probability tables        densities.py  densities of numbers
    structure.py  which attribute leans on which            questions.py  what a tree asks
    notes.py      what every code of a remark means
    plain.py      numbers and labels as JSON can hold them
    wording.py    figures and scores in words
    figures/      SVG, drawn from the facts
    draw.py       the natural picture of a model            picture.py  shown, or saved
    html.py       one self-contained page, from the facts and the templates
    terminal.py   the same for a terminal
"""
