"""pandas: reading, grouping, time series, exceptions out of its parsers, every module."""

import importlib
import io
import pathlib
import pickle

import numpy as np
import pandas as pd

assert pd.__version__ == "3.0.2"
text = "a,b,c,d\nx,1,2.5,2026-01-01\ny,2,,2026-01-02\nx,3,4.5,2026-02-03\n"
df = pd.read_csv(io.StringIO(text), parse_dates=["d"])
assert df.dtypes["d"].kind == "M" and df["c"].isna().sum() == 1
assert df.groupby("a")["b"].sum().to_dict() == {"x": 4, "y": 2}
assert df.set_index("d").resample("ME")["b"].sum().tolist() == [3, 3]
assert df.merge(df, on="a").shape == (5, 7)
assert df.pivot_table(index="a", values="b").to_dict() == {"b": {"x": 2.0, "y": 2.0}}
assert df.query("b > 1").shape == (2, 4) and df.eval("b + c").tolist()[0] == 3.5
assert df["a"].str.upper().tolist() == ["X", "Y", "X"]
assert pd.read_json(io.StringIO(df.to_json())).shape == (3, 4)
assert pickle.loads(pickle.dumps(df)).equals(df)
assert "<table" in df.to_html() and df.describe().shape[1] == 3

hours = pd.Series(pd.date_range("2026-11-20 10:00", periods=2, freq="h", tz="UTC"))
assert hours.dt.tz_convert("Europe/Berlin").dt.strftime("%H:%M").tolist() == ["11:00", "12:00"]
assert pd.Period("2026-11").end_time.day == 30

rng = np.random.default_rng(0)
big = pd.DataFrame({"k": rng.integers(0, 1000, 100_000), "v": rng.random(100_000)})
again = pd.read_csv(io.StringIO(big.to_csv(index=False)))
assert np.allclose(again.groupby("k").v.mean(), big.groupby("k").v.mean())

for error, call in [
    (pd.errors.ParserError, lambda: pd.read_csv(io.StringIO("a,b\n1,2\n3,4,5\n"))),
    (ValueError, lambda: pd.Timestamp("3000000-01-01")),
]:
    try:
        call()
    except error:
        continue
    raise AssertionError(f"no {error}")

package = pathlib.Path(pd.__file__).parent
modules = sorted(package.rglob("*.so"))
assert len(modules) >= 40, len(modules)
for path in modules:
    name = path.relative_to(package.parent).as_posix().split(".")[0]
    importlib.import_module(name.replace("/", "."))
