"""How Python looks for garbage in this program."""

import subprocess
import sys

PROGRAM = """
import gc
from dreamwalker.garbage import OBJECTS, importing
try:
    with importing():
        assert not gc.isenabled()
        raise ImportError
except ImportError:
    pass
assert gc.isenabled() and gc.get_threshold()[0] == OBJECTS and gc.get_freeze_count() > 0
class Knot: pass
for _ in range(2 * OBJECTS):
    knot = Knot()
    knot.itself = knot
print(gc.get_stats()[0]["collected"] > 0)
"""


def test_after_an_import_however_it_ended_garbage_is_looked_for_again() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
