"""The HTTP API: the one door that every client comes through.

One rule: what is answered is what stands in rows. A file per resource holds its routes, what they take and what they
answer, from which both the checks and the OpenAPI document are made.
"""
