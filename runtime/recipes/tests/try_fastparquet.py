"""fastparquet: tables of all types, every codec, row groups, partitions, filters, what pandas says with this engine."""

import pathlib

import fastparquet
import numpy as np
import pandas as pd

count = 5000
frame = pd.DataFrame({
    "n": np.arange(count, dtype="int64"),
    "small": (np.arange(count) % 7).astype("int8"),
    "x": np.random.default_rng(0).random(count),
    "text": [f"row {n % 100} é" for n in range(count)],
    "flag": np.arange(count) % 3 == 0,
    "time": pd.date_range("2026-01-01", periods=count, freq="min"),
    "kind": pd.Categorical(np.arange(count) % 4),
})
directory = pathlib.Path("/tmp/fastparquet")
directory.mkdir()
for codec in ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"):
    path = directory / f"{codec}.parquet"
    fastparquet.write(str(path), frame, compression=codec, row_group_offsets=2000)
    file = fastparquet.ParquetFile(str(path))
    again = file.to_pandas()
    assert len(file.row_groups) == 3, codec
    for column in ("n", "small", "x", "flag"):
        assert (again[column].to_numpy() == frame[column].to_numpy()).all(), (codec, column)
    assert again["text"].tolist() == frame["text"].tolist() and (again["time"] == frame["time"]).all(), codec
assert (directory / "ZSTD.parquet").stat().st_size < (directory / "UNCOMPRESSED.parquet").stat().st_size
some = fastparquet.ParquetFile(str(directory / "SNAPPY.parquet")).to_pandas(["n", "x"], filters=[("n", ">", 4000)], row_filter=True)
assert some["n"].tolist() == list(range(4001, count)) and list(some) == ["n", "x"]
fastparquet.write(str(directory / "parts"), frame, file_scheme="hive", partition_on=["small"])
assert len(fastparquet.ParquetFile(str(directory / "parts")).to_pandas(filters=[("small", "==", 3)])) == (frame["small"] == 3).sum()
missing = pd.DataFrame({"a": [1.0, None, 3.0], "b": ["x", None, "z"]})
missing.to_parquet(directory / "missing.parquet", engine="fastparquet")
back = pd.read_parquet(directory / "missing.parquet", engine="fastparquet")
assert back["a"].isna().tolist() == [False, True, False] and back["b"][2] == "z" and back["b"].isna()[1]
(directory / "broken.parquet").write_bytes(b"no table at all" * 9)
try:
    fastparquet.ParquetFile(str(directory / "broken.parquet"))
except (fastparquet.util.ParquetException, OSError):
    pass
else:
    raise AssertionError("a damaged file was opened")
print("fastparquet: all of it works")
