"""Figures as SVG text: small pure functions from plain facts to a string.

Colors are classes of a style sheet, never values in the figure, so that one figure serves light
and dark; a figure saved alone carries the style sheet with it.
"""
