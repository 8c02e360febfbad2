"""What is remembered. Imports nothing of ours."""
