"""python -m benchmarks.accuracy: see --help."""

from benchmarks.accuracy.command import main

if __name__ == "__main__":
    main()
