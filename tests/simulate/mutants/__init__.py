"""Mutants: patches that break the product on purpose, each in one way, to prove that the simulation would notice.

One rule: what is broken lives here, as a diff, and never as a switch in what is shipped.
"""
