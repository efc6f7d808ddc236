"""Engines: functions from rows and a plan to counts, called only by `count_rows`."""
