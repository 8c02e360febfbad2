"""The web app, in a real browser."""
