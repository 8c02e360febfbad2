"""Storage against a real Postgres."""
