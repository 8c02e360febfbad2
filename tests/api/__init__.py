"""The HTTP API, asked over real HTTP."""
