"""Run the command line: ``python -m countwise``."""

from countwise.cli.app import main

if __name__ == "__main__":
    main()
