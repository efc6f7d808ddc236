"""Engines: functions from rows and a plan to counts, called by `count_rows` alone."""
