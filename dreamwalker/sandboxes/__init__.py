"""Adapters of the Sandbox port. One rule: what runs in a sandbox is trusted with nothing, its own words included."""
