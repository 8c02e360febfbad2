"""The platform, seen from both sides. Imports nothing of ours."""
