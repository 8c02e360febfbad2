"""Tests of the `dreamwalker` command, as a process."""
