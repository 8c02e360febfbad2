"""Tests of what a model may do."""
