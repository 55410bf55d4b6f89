"""h5py: groups, datasets in chunks and compressed, attributes, types, references, files in memory, iteration, damaged files."""

import io
import os
import tempfile

import h5py
import numpy as np

assert h5py.version.hdf5_version_tuple >= (1, 14)
directory = tempfile.mkdtemp()
path = os.path.join(directory, "a.h5")
rng = np.random.default_rng(0)
values = rng.normal(size=(300, 200))
record = np.dtype([("name", "S8"), ("at", "f8"), ("flags", "u1", (3,))])
with h5py.File(path, "w") as file:
    group = file.create_group("one/two")
    for name, options in {
        "plain": {}, "gzip": {"compression": "gzip", "compression_opts": 9}, "lzf": {"compression": "lzf"},
        "shuffled": {"chunks": (50, 50), "compression": "gzip", "shuffle": True, "fletcher32": True},
    }.items():
        group.create_dataset(name, data=values, **options)
    group.attrs["unit"] = "mm"
    group.attrs["shape"] = np.arange(3)
    rows = np.zeros(4, record)
    rows["name"] = [b"a", b"bc", b"", b"12345678"]
    rows["flags"][2] = 1, 2, 3
    file["rows"] = rows
    file["texts"] = ["grün", "", "日本"]
    file["ragged"] = np.array([np.arange(2), np.arange(5)], dtype=h5py.vlen_dtype("i4"))
    file["complex"], file["half"], file["bool"] = np.array([1 + 2j, 3j]), np.arange(3, dtype="f2"), np.array([True, False])
    file["enum"] = np.array([1, 0], dtype=h5py.enum_dtype({"off": 0, "on": 1}))
    growing = file.create_dataset("growing", (0,), maxshape=(None,), dtype="i8")
    for step in range(5):
        growing.resize(len(growing) + 1000, axis=0)
        growing[-1000:] = step
    file["link"], file["soft"] = group, h5py.SoftLink("/one/two/gzip")
    file["reference"] = group.ref
    dimension = file["growing"]
    dimension.make_scale("time")
assert h5py.is_hdf5(path) and os.path.getsize(path) < 5 * values.nbytes
with h5py.File(path) as file:
    for name in ("plain", "gzip", "lzf", "shuffled"):
        assert np.array_equal(file[f"one/two/{name}"][:], values), name
    assert np.array_equal(file["soft"][10:200:7, 3], values[10:200:7, 3]) and np.array_equal(file["link/lzf"][values[:, 0] > 1], values[values[:, 0] > 1])
    assert dict(file["one/two"].attrs)["unit"] == "mm" and file["one/two"].attrs["shape"].tolist() == [0, 1, 2]
    assert file["rows"][2]["flags"].tolist() == [1, 2, 3] and file["rows"]["name"][3] == b"12345678"
    assert list(file["texts"].asstr()) == ["grün", "", "日本"] and file["ragged"][1].tolist() == [0, 1, 2, 3, 4]
    assert file["complex"][1] == 3j and file["half"].dtype == "f2" and file["bool"][:].tolist() == [True, False]
    assert h5py.check_enum_dtype(file["enum"].dtype) == {"off": 0, "on": 1}
    assert file["growing"][::1000].tolist() == [0, 1, 2, 3, 4] and h5py.h5ds.is_scale(file["growing"].id)
    assert file[file["reference"][()]].name in ("/one/two", "/link")
    seen = []
    file.visititems(lambda name, item: seen.append(name))
    assert {"one/two/gzip", "link/gzip"} & set(seen) and "soft" not in seen and sorted(file)[0] == "bool"
    for wrong, error in ((lambda: file["nothing"], KeyError), (lambda: file.create_group("new"), ValueError), (lambda: file["growing"][10**6], IndexError)):
        try:
            wrong()
        except error:
            pass
        else:
            raise AssertionError(error)
buffer = io.BytesIO()
with h5py.File(buffer, "w") as file:
    file["x"] = np.arange(10)
assert h5py.File(io.BytesIO(buffer.getvalue()))["x"][:].sum() == 45
with h5py.File("in memory", "w", driver="core", backing_store=False) as file:
    file["y"] = 1
    layout = h5py.VirtualLayout((300, 200), "f8")
    layout[:] = h5py.VirtualSource(path, "one/two/gzip", (300, 200))
    file.create_virtual_dataset("virtual", layout)
    assert np.array_equal(file["virtual"][5], values[5]) and not os.path.exists("in memory")
with open(path, "r+b") as damaged:
    damaged.write(b"\0" * 512)
try:
    h5py.File(path)
except OSError as error:
    assert "signature" in str(error), error
else:
    raise AssertionError("a damaged file")
print("h5py: all of it works")
