"""Tests: real Postgres, a scripted model over real HTTP, no mocks, no sleeps."""
