"""Fresh randomness after a fork or a restore, for everything that keeps state in memory.

What asks the system each time (`os.urandom`, `secrets`, `uuid4`, new `Random()` objects) is fresh already. The hash
secret of `str` cannot be changed. Generators that guest code made before keep their state.
"""

from .pristine import __builtins__

import random
import sys

_seed = random.seed
_from_bytes = int.from_bytes


def reseed(entropy):
    """Re-seeds from `entropy` (bytes, 32 or more from the system's generator). Cheap without numpy."""
    modules = sys.modules
    _seed(_from_bytes(entropy, "little"))
    tempfile = modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
    uuid = modules.get("uuid")
    if uuid is not None:
        uuid._node = None
        for name in ("_last_timestamp", "_last_timestamp_v6", "_last_timestamp_v7", "_last_counter_v7"):
            if hasattr(uuid, name):
                setattr(uuid, name, 0 if name == "_last_counter_v7" else None)
    process = modules.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = entropy[:32]
    numpy_random = modules.get("numpy.random.mtrand")
    if numpy_random is not None:
        words = [_from_bytes(entropy[i:i + 4], "little") for i in range(0, len(entropy) - 3, 4)]
        numpy_random.seed(words)
