"""The shell: configuration, composition, doors. The only room that knows all the others."""

__version__ = "0.1.0"
