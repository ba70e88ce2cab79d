"""`python -m hlodiff` is `hlodiff`."""

from hlodiff.cli import main

if __name__ == "__main__":
    main()
