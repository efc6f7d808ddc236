"""Run the command line: ``python -m countwise``."""

from countwise.cli.app import run

if __name__ == "__main__":
    run()
