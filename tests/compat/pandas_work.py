"""pandas does its work: reading, grouping, joining, resampling, writing."""

import io
import json
import os
import sqlite3
import tempfile

import numpy as np
import pandas as pd

from checks import equal, raises

CSV = """date,city,sales,note
2024-01-01,Oslo,10,"a, b"
2024-01-01,Bergen,7,
2024-01-02,Oslo,,ü
2024-01-09,Bergen,12,x
"""


def frame():
    return pd.read_csv(io.StringIO(CSV), parse_dates=["date"])


def test_reading_a_table():
    table = frame()
    equal(table.shape, (4, 4))
    equal(table["sales"].isna().tolist(), [False, False, True, False])
    equal((table["note"][0], table["note"][2]), ("a, b", "ü"))
    assert pd.api.types.is_datetime64_any_dtype(table["date"])
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "table.csv.gz")
        table.to_csv(path, index=False)
        pd.testing.assert_frame_equal(pd.read_csv(path, parse_dates=["date"], engine="python"), table)
        chunks = list(pd.read_csv(path, chunksize=3))
        equal([len(chunk) for chunk in chunks], [3, 1])
    with raises(pd.errors.ParserError, "Expected 2 fields in line 3, saw 3"):
        pd.read_csv(io.StringIO("a,b\n1,2\n1,2,3\n"))


def test_grouping():
    table = frame()
    sums = table.groupby("city")["sales"].agg(["sum", "mean", "count"])
    equal(sums.loc["Oslo"].tolist(), [10, 10, 1])
    equal(sums.loc["Bergen"].tolist(), [19, 9.5, 2])
    equal(
        table.groupby("city").apply(lambda part: part["sales"].max(), include_groups=False).to_dict(),
        {"Bergen": 12.0, "Oslo": 10.0},
    )
    pivot = table.pivot_table(index="date", columns="city", values="sales", aggfunc="sum", fill_value=0)
    equal(pivot.to_numpy().tolist(), [[7, 10], [0, 0], [12, 0]])
    equal(table["sales"].rolling(2, min_periods=1).sum().tolist(), [10, 17, 7, 12])


def test_joining():
    countries = pd.DataFrame({"city": ["Oslo", "Turku"], "country": ["no", "fi"]})
    joined = frame().merge(countries, on="city", how="outer", indicator=True)
    equal(joined["_merge"].value_counts().to_dict(), {"left_only": 2, "both": 2, "right_only": 1})
    equal(pd.concat([countries, countries], ignore_index=True).drop_duplicates().shape, (2, 2))
    left = pd.DataFrame({"t": [1, 5, 10], "a": [1, 2, 3]})
    right = pd.DataFrame({"t": [2, 3, 7], "b": [10, 20, 30]})
    equal(pd.merge_asof(left, right, on="t")["b"].fillna(0).tolist(), [0, 20, 30])


def test_resampling_and_time_zones():
    days = frame().set_index("date")["sales"].resample("W").sum()
    equal({str(day.date()): value for day, value in days.items()}, {"2024-01-07": 17.0, "2024-01-14": 12.0})
    hours = pd.Series(range(48), index=pd.date_range("2024-03-30", periods=48, freq="h", tz="Europe/Oslo"))
    equal(hours.resample("D").count().tolist(), [24, 23, 1])
    equal(str(hours.index[26]), "2024-03-31 03:00:00+02:00")
    equal(str(hours.index[26].tz_convert("Asia/Kolkata")), "2024-03-31 06:30:00+05:30")
    months = pd.date_range("2024-01-31", periods=3, freq="ME")
    equal([str(month.date()) for month in months], ["2024-01-31", "2024-02-29", "2024-03-31"])


def test_writing():
    table = frame()
    records = json.loads(table.to_json(orient="records", date_format="iso"))
    equal(records[0], {"date": "2024-01-01T00:00:00.000", "city": "Oslo", "sales": 10.0, "note": "a, b"})
    back = pd.read_json(io.StringIO(table.to_json(orient="split")), orient="split", convert_dates=["date"])
    pd.testing.assert_series_equal(back["sales"], table["sales"])
    equal(table.to_csv(index=False, columns=["city", "sales"]).splitlines()[1], "Oslo,10.0")
    assert "<td>Bergen</td>" in table.to_html() and "Bergen" in table.to_string()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "table.pkl.xz")
        table.to_pickle(path)
        pd.testing.assert_frame_equal(pd.read_pickle(path), table)


def test_a_database():
    with sqlite3.connect(":memory:") as database:
        frame().to_sql("sales", database, index=False)
        sums = pd.read_sql("select city, sum(sales) as total from sales group by city order by city", database)
    equal(sums.to_dict("list"), {"city": ["Bergen", "Oslo"], "total": [19.0, 10.0]})
    database.close()


def test_the_many_types():
    whole = pd.array([1, None, 3], dtype="Int64")
    equal((int(whole.sum()), whole.isna().tolist()), (4, [False, True, False]))
    kinds = pd.Categorical(["low", "high", "low"], categories=["low", "high"], ordered=True)
    equal((kinds.codes.tolist(), kinds.max()), ([0, 1, 0], "high"))
    spans = pd.cut(pd.Series([1, 5, 9]), [0, 4, 10])
    equal(spans.value_counts().tolist(), [2, 1])
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", "y"])
    equal(pd.Series(range(4), index=index).unstack().loc["b"].tolist(), [2, 3])
    equal(pd.Series(["Ab", None]).str.lower().tolist()[0], "ab")
    equal(pd.DataFrame({"a": [1, 2, 3], "b": [3, 2, 1]}).query("a > b")["a"].tolist(), [3])
    equal(pd.DataFrame({"a": np.arange(4)}).eval("a * 2 + 1").tolist(), [1, 3, 5, 7])


def test_errors_are_pandas_own():
    with raises(KeyError, "nothing"):
        frame()["nothing"]
    with raises(ValueError, "time data"):
        pd.to_datetime(["31-31-2024"], format="%d-%m-%Y")
    with raises(pd.errors.OutOfBoundsDatetime):
        pd.Timestamp("2500-01-01").as_unit("ns")
