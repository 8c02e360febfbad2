"""`python -m dreamwalker` is the `dreamwalker` command."""

from .cli import main

if __name__ == "__main__":
    main()
