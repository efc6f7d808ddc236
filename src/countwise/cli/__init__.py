"""The command line: one file a command, each imported when it is called.

::

    app.py        the group: lazy commands, did-you-mean, exit codes
    failures.py   any error as one line and an exit code
    options.py    the options that several commands share
    asked.py      what the options say about reading, as a table
    decisions.py  the gain matrix a command decides by
    output.py     stdout, stderr, JSON and files, whole or not at all
    progress.py   how far it is, on a terminal, after two seconds
    segments.py   a file in blocks, several at once, in bounded memory
    scoring.py    blocks of rows as posteriors and decisions, and what is to be said at the end
    lines.py      posteriors as lines of CSV, without a loop over rows
    sinks.py      where predictions go: stdout, CSV, Parquet
    inspect.py, compare.py, curve.py, fit.py, predict.py, explain.py, samples.py, models.py,
    version.py    the commands
"""
