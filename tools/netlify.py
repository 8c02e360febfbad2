"""Placeholder."""

NETLIFY = "netlify"
