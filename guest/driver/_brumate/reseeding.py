"""Fresh randomness after a fork or a restore, for everything that keeps state in memory.

What asks the system each time (`os.urandom`, `secrets`, `uuid4`, new `Random()` objects) is fresh already. The hash
secret of `str` cannot be changed. What guest code seeded on purpose (`random.seed(1)`, `numpy.random.seed(1)`) and
generators it made itself keep their state: a program that asked for a certain sequence gets it, however often its
session sleeps.
"""

from .pristine import __builtins__

import os
import random
import sys
import time

_seed = random.seed
_from_bytes = int.from_bytes
_urandom = os.urandom
_time_ns = time.time_ns


class _OnPurpose:
    random = False


def install():
    """Notices from now on when guest code seeds the generator of `random`."""

    def seed(a=None, version=2):
        random._inst.seed(a, version)
        _OnPurpose.random = a is not None

    seed.__doc__ = _seed.__doc__
    seed.__module__ = "random"
    seed.__qualname__ = "Random.seed"
    random.seed = seed


def reseed(entropy):
    """Re-seeds from `entropy` (bytes, 32 or more from the system's generator). Cheap without numpy."""
    modules = sys.modules
    if not _OnPurpose.random:
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
    logging = modules.get("logging")
    if logging is not None and logging._startTime < _EARLIEST:
        # The image's clock stood still: what `relativeCreated` counts from is now.
        logging._startTime = _time_ns()
    mtrand = modules.get("numpy.random.mtrand")
    if mtrand is not None:
        _reseed_numpy(mtrand)


# Any clock that shows less is that of an image being built (2026-01-02, nanoseconds).
_EARLIEST = 1_767_312_000_000_000_000

# Words of the state of numpy's global generator, the Mersenne Twister.
_WORDS = 624


def _reseed_numpy(mtrand):
    """The global `RandomState`. `numpy.random.seed` leaves its bit generator without a seed sequence: that is how a
    seed given on purpose is told from numpy's own, and why its state is set here instead of seeded."""
    bits = mtrand._rand._bit_generator
    if bits._seed_seq is None or type(bits).__name__ != "MT19937":
        return
    key = sys.modules["numpy"].frombuffer(_urandom(4 * _WORDS), "uint32")
    mtrand._rand.set_state(("MT19937", key, _WORDS, 0, 0.0))


def seed_addresses(_=""):
    """Where the state of these generators lies in memory, as JSON: the host writes there when a fork of an image has
    run no guest code yet. Objects are given by address and size, with the first words of their generator's state."""
    _, internal, _ = random.getstate()
    twisters = [_twister(random._inst, internal[:_SHOWN], internal[-1])]
    mtrand = sys.modules.get("numpy.random.mtrand")
    if mtrand is not None:
        bits = mtrand._rand._bit_generator
        state = bits.state["state"]
        twisters.append(_twister(bits, state["key"].tolist()[:_SHOWN], int(state["pos"])))
    logging = sys.modules.get("logging")
    start = "null" if logging is None else f'{{"object":{id(logging._startTime)},"value":{logging._startTime}}}'
    # What has to be asked.
    others = "true" if "multiprocessing.process" in sys.modules else "false"
    return f'{{"twisters":[{",".join(twisters)}],"start":{start},"others":{others}}}'


_SHOWN = 8


def _twister(holder, words, index):
    words = ",".join(map(str, words))
    return f'{{"object":{id(holder)},"size":{type(holder).__basicsize__},"words":[{words}],"index":{index}}}'
