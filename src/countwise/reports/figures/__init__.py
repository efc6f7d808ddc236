"""Figures as SVG text: small pure functions from plain facts to one string, the same every time.

::

    svg.py            elements, escaping, whole figures, `save_svg`
    lettering.py      how wide a text is, and how it is shortened to its room
    palette.py        the colours by name, light and dark, for the page and for a file of its own
    scales.py         round ticks, and where a figure falls on an axis
    matrix.py         a grid of coloured cells with labels on two sides
    legend.py         which colour is which
    ranking.py        scores with their intervals, a line an entry
    confusion.py      true classes against decisions
    balance.py        how many rows each class has
    probabilities.py  class × attribute × value, colour is probability
    densities.py      numeric attributes by class
    information.py    bits about the class, attribute by attribute
    attribute_tree.py which attribute leans on which; layered.py and outline.py draw it,
    tidy.py           gives each subtree a strip of its own
    decision_tree.py  what is asked, what was answered, how many of each class
    curves.py         score against training rows, with bands
    heat.py           accuracy over k and p, and over k with its spread
    regions.py        decisions over two numbers, and the cells of one neighbour
    gain.py           the gain matrix, and where the gain is earned

Colours are classes of a style sheet, never values in the figure, so that one figure serves light
and dark; a figure saved alone carries its own style sheet.
"""
