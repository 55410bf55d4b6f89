"""The extension modules in Rust: results, and a panic as a Python exception."""

import orjson
import rpds
import tiktoken
from safetensors.numpy import load, save

import numpy as np


class Key:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise ValueError("no equality")


for _ in range(2):
    try:
        rpds.HashTrieMap({Key(): 1}).insert(Key(), 2)
    except BaseException as error:
        assert type(error).__name__ == "PanicException", error
    else:
        raise AssertionError("no panic")
assert rpds.HashTrieMap({1: 2}).insert(3, 4)[3] == 4
assert orjson.loads(orjson.dumps({"a": [1, 2.5, None, "\u00e9"]})) == {"a": [1, 2.5, None, "\u00e9"]}
ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
assert tiktoken.Encoding("small", pat_str=r"\w+|\s+", mergeable_ranks=ranks, special_tokens={}).encode("ab a") == [256, 32, 97]
assert (load(save({"a": np.arange(3)}))["a"] == [0, 1, 2]).all()
