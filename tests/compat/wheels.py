"""Wheels as published on PyPI for this platform, unpacked and untouched: they load and work.

They are in /wheels, laid out like site-packages: pydantic with pydantic-core (Rust), msgpack (Cython), contourpy
(C++, newer than the bundle's).
"""

import datetime
import decimal
import glob
import importlib.util
import os
import shutil
import sys
import tempfile
import typing

from checks import equal, raises

sys.path.insert(0, "/wheels")


def test_they_are_the_published_ones():
    import contourpy
    import msgpack
    import pydantic_core

    for module in (contourpy, msgpack, pydantic_core):
        assert module.__file__.startswith("/wheels/"), module


def test_pydantic_models():
    import pydantic

    class Item(pydantic.BaseModel):
        name: typing.Annotated[str, pydantic.Field(min_length=2, pattern="^[a-z]+$")]
        price: decimal.Decimal = pydantic.Field(gt=0)
        made: datetime.datetime
        tags: set[str] = set()
        parent: "Item | None" = None

        @pydantic.field_validator("tags")
        @classmethod
        def no_more_than_two(cls, tags):
            if len(tags) > 2:
                raise ValueError("too many tags")
            return tags

    item = Item.model_validate_json(
        '{"name": "bolt", "price": "1.50", "made": "2024-02-29T12:00:00+01:00", '
        '"tags": ["b", "a"], "parent": {"name": "box", "price": 2, "made": 0}}'
    )
    equal((item.price, item.parent.made.year), (decimal.Decimal("1.50"), 1970))
    equal(Item.model_validate(item.model_dump()), item)
    equal(Item.model_validate_json(item.model_dump_json()), item)
    assert Item.model_json_schema()["$defs"]["Item"]["properties"]["name"]["minLength"] == 2
    with raises(pydantic.ValidationError) as _:
        Item(name="x")
    try:
        Item(name="B1", price=-1, made="yesterday", tags=["a", "b", "c"], parent={"name": 1})
    except pydantic.ValidationError as error:
        found = [(entry["loc"], entry["type"]) for entry in error.errors()]
    equal(
        found,
        [
            (("name",), "string_pattern_mismatch"),
            (("price",), "greater_than"),
            (("made",), "datetime_from_date_parsing"),
            (("tags",), "value_error"),
            (("parent", "name"), "string_type"),
            (("parent", "price"), "missing"),
            (("parent", "made"), "missing"),
        ],
    )


def test_pydantic_unions_and_adapters():
    import pydantic

    class Cat(pydantic.BaseModel):
        kind: typing.Literal["cat"]

    class Dog(pydantic.BaseModel):
        kind: typing.Literal["dog"]

    pets = pydantic.TypeAdapter(list[typing.Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]])
    equal([type(pet) for pet in pets.validate_python([{"kind": "dog"}, {"kind": "cat"}])], [Dog, Cat])
    with raises(pydantic.ValidationError, "union_tag_invalid"):
        pets.validate_python([{"kind": "cow"}])
    numbers = pydantic.TypeAdapter(dict[int, float])
    equal(numbers.validate_json('{"1": 2, "3": 1e300}'), {1: 2.0, 3: 1e300})
    with raises(pydantic.ValidationError, "json_invalid"):
        numbers.validate_json("{")
    equal(
        pydantic.TypeAdapter(pydantic.HttpUrl).validate_python("http://b\u00fccher.example/a?b#c").host,
        "xn--bcher-kva.example",
    )


def test_python_errors_cross_rust():
    import pydantic
    import pydantic_core

    def interrupted(value):
        raise KeyboardInterrupt

    schema = pydantic_core.core_schema.no_info_plain_validator_function(interrupted)
    for _ in range(100):
        try:
            pydantic_core.SchemaValidator(schema).validate_python(1)
        except KeyboardInterrupt:
            continue
        raise AssertionError
    deep = {}
    for _ in range(10_000):
        deep = {"a": deep}
    adapter = pydantic.TypeAdapter(typing.Any)
    with raises((ValueError, RecursionError)):
        adapter.dump_json(deep)
    with raises(ValueError, "recursion limit exceeded"):
        pydantic_core.from_json("[" * 10_000)
    with raises(pydantic_core.SchemaError):
        pydantic_core.SchemaValidator({"type": "nothing"})


def test_errors_within_errors():
    import pydantic_core

    class Liar(dict):
        def items(self):
            raise MemoryError("from items")

    class Silent(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def fails(value):
        raise ValueError(Silent())

    validator = pydantic_core.SchemaValidator(pydantic_core.core_schema.no_info_plain_validator_function(fails))
    with raises(Exception):
        str(raised(validator))
    serializer = pydantic_core.SchemaSerializer(pydantic_core.core_schema.any_schema())
    with raises((MemoryError, ValueError)):
        serializer.to_json({"a": Liar(b=1), "c": object()})


def raised(validator):
    try:
        validator.validate_python(1)
    except ValueError as error:
        return error
    raise AssertionError


def test_msgpack():
    import msgpack

    value = {"a": [1, -(2**63), 2**64 - 1, 1.5, None, True], "b": b"\0\xff", "ü": "ß" * 1000}
    equal(msgpack.unpackb(msgpack.packb(value)), value)
    moment = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
    equal(msgpack.unpackb(msgpack.packb(moment, datetime=True), timestamp=3), moment)
    unpacker = msgpack.Unpacker()
    data = b"".join(msgpack.packb(n) for n in range(1000))
    for start in range(0, len(data), 7):
        unpacker.feed(data[start : start + 7])
    equal(list(unpacker), list(range(1000)))
    with raises(msgpack.exceptions.ExtraData):
        msgpack.unpackb(b"\1\2")
    with raises((ValueError, msgpack.exceptions.UnpackException)):
        msgpack.unpackb(b"\xdd\xff\xff\xff\xff")
    with raises(OverflowError):
        msgpack.packb(2**64)
    import msgpack._cmsgpack  # the compiled one, not the fallback

    assert msgpack.Packer is msgpack._cmsgpack.Packer


def test_extension_modules_load_from_written_files():
    (published,) = glob.glob("/wheels/msgpack/_cmsgpack.*.so")
    with tempfile.TemporaryDirectory() as directory:
        path = shutil.copy(published, directory)
        spec = importlib.util.spec_from_file_location("_cmsgpack", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        equal(module.unpackb(module.Packer().pack([1])), [1])
        with open(os.path.join(directory, "broken.so"), "wb") as file:
            file.write(open(published, "rb").read()[:5000])
        spec = importlib.util.spec_from_file_location("broken", file.name)
        with raises(ImportError):
            importlib.util.module_from_spec(spec)


def test_contourpy():
    import contourpy
    import numpy as np

    y, x = np.mgrid[-2:2:50j, -2:2:50j]
    lines = contourpy.contour_generator(x, y, np.hypot(x, y)).lines(1.0)
    np.testing.assert_allclose(np.hypot(*np.asarray(lines[0]).T), 1.0, atol=0.01)
    with raises(ValueError, "upper_level"):
        contourpy.contour_generator(z=np.eye(3)).filled(0.5, 0.2)
