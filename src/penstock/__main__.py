"""``python -m penstock`` is equivalent to the ``penstock`` command."""

from penstock.cli import main

if __name__ == "__main__":
    main()
