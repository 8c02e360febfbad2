"""The web app and its own site. Python has no part in it but the stamp."""
