"""What dreamwalker costs, measured: `python -m bench` prints a table and, as its last line, one JSON object.

One rule: everything is real (Postgres with its fsyncs, the actors, the wire, the server's process) but the model, and
what is compared is measured in turns, so that a busy machine is busy for both.
"""
