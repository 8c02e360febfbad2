"""The certificate authorities that we trust.

One rule: the usual ones, whatever the environment says; read once for all clients, which takes longer than all the rest
of making one.
"""

import functools
import importlib
import ssl
from pathlib import Path


@functools.cache
def authorities(extra_file: Path | None = None) -> ssl.SSLContext:
    """The usual authorities and those in the file. Call it in a thread. Raises OSError and ssl.SSLError."""
    context: ssl.SSLContext = importlib.import_module("httpx2").create_ssl_context(trust_env=False)
    if extra_file is not None:
        context.load_verify_locations(cafile=extra_file)
    return context
