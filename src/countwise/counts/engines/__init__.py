"""Engines do one thing: rows and a plan in, counts out. `count.py` is the only door to them."""
