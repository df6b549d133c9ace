"""``python -m residualplanner``: the same as the command ``residualplanner``."""

from residualplanner.shell.cli import main

if __name__ == "__main__":
    main()
