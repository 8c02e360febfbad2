"""The API asked by schemathesis, which makes up requests of all kinds from its own description."""
