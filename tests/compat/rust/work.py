"""The wheels of the bundle that are written in Rust, at work; prints `same` for each check that passes.

work.py [check ...]
"""

import dataclasses
import datetime
import sys
import tempfile
import uuid


def rpds():
    import rpds

    first = rpds.HashTrieMap({"a": 1, "b": 2})
    second = first.insert("c", 3).remove("a")
    assert dict(first) == {"a": 1, "b": 2} and dict(second) == {"b": 2, "c": 3}
    assert rpds.HashTrieSet(range(1000)).discard(3).remove(4) == rpds.HashTrieSet({*range(1000)} - {3, 4})
    assert list(rpds.List([1, 2, 3]).push_front(0)) == [0, 1, 2, 3] and rpds.Queue([1, 2]).dequeue().peek() == 2
    assert hash(first) == hash(rpds.HashTrieMap({"b": 2, "a": 1}))


def panic():
    """A panic unwinds: it is an exception, and the module goes on working."""
    import rpds

    class Key:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise ValueError("no equality")

    full = rpds.HashTrieMap({Key(): 1})
    for _ in range(3):
        try:
            full.insert(Key(), 2)
        except BaseException as error:
            assert type(error).__name__ == "PanicException" and "no equality" in str(error)
        else:
            raise AssertionError("it did not panic")
    assert full.insert("other", 3)["other"] == 3


def orjson():
    import numpy
    import orjson

    @dataclasses.dataclass
    class Point:
        x: float
        when: datetime.datetime

    data = {
        "point": Point(1.5, datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.UTC)),
        "array": numpy.arange(6, dtype=numpy.int64).reshape(2, 3),
        "id": uuid.UUID(int=5),
        "text": "\u00e9\U0001f600\n",
        "big": 2**53 + 1,
    }
    text = orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_SORT_KEYS)
    assert (
        text
        == (
            '{"array":[[0,1,2],[3,4,5]],"big":9007199254740993,"id":"00000000-0000-0000-0000-000000000005",'
            '"point":{"x":1.5,"when":"2026-01-02T03:04:05.000678+00:00"},"text":"\u00e9\U0001f600\\n"}'
        ).encode()
    )
    assert orjson.loads(text)["array"] == [[0, 1, 2], [3, 4, 5]]
    assert orjson.loads("[1e308,-0.0,18446744073709551615,5e-324]") == [1e308, -0.0, 2**64 - 1, 5e-324]
    for wrong in ("[1,", '{"a":NaN}', b"\xff", "[" * 2000):
        try:
            orjson.loads(wrong)
        except orjson.JSONDecodeError:
            continue
        raise AssertionError(wrong)


def tiktoken():
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257, b" the": 258, b"er": 259}
    encoding = tiktoken.Encoding(
        "small", pat_str=r"\s?\p{L}+|\s+|.", mergeable_ranks=ranks, special_tokens={"<|end|>": 300}
    )
    assert encoding.encode("the other<|end|>", allowed_special="all") == [257, 32, 111, 257, 114, 300]
    assert encoding.decode([257, 258, 300]) == "the the<|end|>"
    assert encoding.encode_batch(["the", "er"]) == [[257], [259]]
    assert encoding.decode_with_offsets([257, 258]) == ("the the", [0, 3])
    assert encoding.encode("\u00e9") == [0xC3, 0xA9]


def safetensors():
    import numpy
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import load, load_file, save, save_file

    tensors = {"a": numpy.arange(12, dtype=numpy.float32).reshape(3, 4), "b": numpy.array([1, -2], dtype=numpy.int16)}
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/some.safetensors"
        save_file(tensors, path, metadata={"made": "here"})
        loaded = load_file(path)
        assert loaded.keys() == tensors.keys() and all((loaded[key] == tensors[key]).all() for key in tensors)
        with safe_open(path, framework="np") as file:
            assert file.metadata() == {"made": "here"} and sorted(file.keys()) == ["a", "b"]
            assert (file.get_slice("a")[1:, ::1][:, 2] == [6, 10]).all()
    assert (load(save(tensors))["b"] == tensors["b"]).all()
    try:
        load(b"\xff" * 16)
    except SafetensorError as error:
        assert "header" in str(error).lower()
    else:
        raise AssertionError("it took that")


CHECKS = [rpds, panic, orjson, tiktoken, safetensors]

if __name__ == "__main__":
    for check in CHECKS:
        if len(sys.argv) < 2 or check.__name__ in sys.argv[1:]:
            check()
            print("same", check.__name__)
