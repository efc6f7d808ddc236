"""The command line: one file per command, imported only when the command is called.

::

    app.py      the group: lazy commands, did-you-mean, exit codes
    errors.py   errors as one line and an exit code; parameters spelled as options
    options.py  the options that several commands share
    output.py   stdout, stderr, JSON, files and progress
    lists.py    the commands samples, models and version
"""
