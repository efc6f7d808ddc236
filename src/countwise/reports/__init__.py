"""PAGES: what was found, for people and for machines.

::

    facts.py      comparison_facts, inspect_facts: plain, JSON-able, versioned
    columns.py    the data section: kinds, levels, missing cells, balance, what is dropped
    standings.py  ranking, differences, confusion, gain, learning curve
    why.py        probability tables and densities of the fitted model
    notes.py      what every code of a remark means
    plain.py      numbers and labels as JSON can hold them
    wording.py    figures and scores in words
    figures/      SVG, drawn from the facts
    html.py       one self-contained page, from the facts and the templates
    terminal.py   the same for a terminal
"""
