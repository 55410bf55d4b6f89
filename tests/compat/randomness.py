"""Prints random values from every source, one line each: two runs must not share a line."""

import os
import random
import secrets
import sqlite3
import tempfile
import uuid

import numpy as np

database = sqlite3.connect(":memory:")
for name, value in {
    "random.random": random.random(),
    "random.Random": random.Random().random(),
    "numpy.random.rand": np.random.rand(),
    "numpy.random.default_rng": np.random.default_rng().random(),
    "os.urandom": os.urandom(16).hex(),
    "secrets": secrets.token_hex(),
    "uuid.uuid1": uuid.uuid1(),
    "uuid.uuid4": uuid.uuid4(),
    "uuid.uuid7": uuid.uuid7(),
    "tempfile": tempfile.mktemp(),
    "sqlite3": database.execute("select random()").fetchone(),
    "/dev/urandom": open("/dev/urandom", "rb").read(16).hex(),
}.items():
    print(name, value)
database.close()
