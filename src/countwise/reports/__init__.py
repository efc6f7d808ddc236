"""Reports: results for people and for machines.

::

    report.py            the public door: a page about a comparison
    comparison_facts.py  ranking, differences, confusion, gain, curve, protocol: plain, versioned
    data_facts.py        columns, levels, missing cells, class balance, what is dropped
    model_facts.py       the views of a model, cut to what a page has room for
    sentences.py         numbers and scores in words, values as JSON can hold them
    html.py              one self-contained page: facts, templates/ and figures/
    draw.py              the picture of a fitted model
    regions.py           decision regions over two columns
    terminal.py          results in a terminal
"""
