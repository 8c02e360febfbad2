"""The web: fetches pages and makes text of them. Fills the Web port of `tools.fetch_url`."""
