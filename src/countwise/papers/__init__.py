"""PAPERS. Five studies re-made: protocol as code, printed figures as data, a verdict on each."""
