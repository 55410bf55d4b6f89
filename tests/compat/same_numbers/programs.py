"""Random programs of several steps over a table, as an analyst writes them; each step prints what it made."""

import random

COLUMNS = {
    'city': lambda r, n: [r.choice(['Oslo', 'Rome', 'Lima', 'Kyiv']) for _ in range(n)],
    'units': lambda r, n: [r.randint(0, 12) for _ in range(n)],
    'cents': lambda r, n: [r.choice([99, 250000000, 5, 1999, 2147483647, 10**10]) for _ in range(n)],
    'price': lambda r, n: [round(r.uniform(0.5, 99), 2) for _ in range(n)],
    'score': lambda r, n: [r.choice([1.5, -2.0, 0.0, 'nan', 7.25]) for _ in range(n)],
    'day': lambda r, n: [f'2024-{r.randint(1, 12):02}-{r.randint(1, 28):02}' for _ in range(n)],
    'epoch': lambda r, n: [r.randint(10**9, 17 * 10**8) for _ in range(n)],
    'flag': lambda r, n: [r.random() < 0.5 for _ in range(n)],
    'code': lambda r, n: [str(r.choice([7, 5000000000, 12])) for _ in range(n)],
}

# Each step is a statement or an expression whose value is shown.
STEPS = [
    'df["total"] = df["units"] * df["cents"]',
    'df["dollars"] = df["cents"] / 100',
    'df["big"] = df["cents"].astype(int) * 100',
    'df["ratio"] = df["price"] / df["units"]',
    'df["when"] = pd.to_datetime(df["day"])',
    'df["stamp"] = pd.to_datetime(df["epoch"].astype(int) * 1000, unit="ms")',
    'df["n"] = df["code"].astype(int)',
    'df["rank"] = df["price"].rank(method="dense").astype(int)',
    'df["band"] = pd.cut(df["price"], [0, 25, 50, 100], labels=["low", "mid", "high"])',
    'df["share"] = df["units"] / df["units"].sum()',
    'df["log"] = np.log(df["units"])',
    'df["z"] = (df["price"] - df["price"].mean()) / df["price"].std()',
    'df["run"] = df.groupby("city")["units"].cumsum()',
    'df["first"] = ~df.duplicated("city")',
    'df["key"] = df["city"].factorize()[0]',
    'df["hash"] = df["units"] * 2654435761 % 2**32',
    'df = df.sort_values(["city", "units"], kind="stable").reset_index(drop=True)',
    'df = df[df["units"] > 2].copy()',
    'df = df.assign(double=df["units"] * 2)',
    'df = df.fillna({"score": 0})',
    '? df.dtypes',
    '? df.describe()',
    '? df.describe(include="all")',
    '? df.head(3)',
    '? df["city"].value_counts()',
    '? df.groupby("city")["units"].agg(["sum", "mean", "count", "max"])',
    '? df.groupby("city").size()',
    '? df.groupby(["city", "flag"])["cents"].sum()',
    '? df.pivot_table(index="city", columns="flag", values="units", aggfunc="sum", fill_value=0)',
    '? pd.crosstab(df["city"], df["flag"])',
    '? df.select_dtypes("number").sum()',
    '? df.select_dtypes("int64").columns.tolist()',
    '? df["units"].to_numpy()',
    '? df["units"].values.cumprod()',
    '? df.to_json(orient="records")',
    '? df.to_csv(index=False)',
    '? df[["units", "cents"]].to_dict("list")',
    '? json.dumps({"n": int(df["units"].sum()), "m": float(df["price"].mean().round(6))})',
    '? df["cents"].sum()',
    '? df["cents"].prod()',
    '? np.histogram(df["units"], bins=4)',
    '? np.bincount(df["units"])',
    '? np.unique(df["units"], return_counts=True)',
    '? np.argsort(df["units"].to_numpy(), kind="stable")',
    '? df["units"].argsort(kind="stable")',
    '? np.where(df["units"] > 4, 1, 0)',
    '? np.array(df["units"]).dot(np.array(df["cents"]))',
    '? (df["units"].to_numpy() ** 9)',
    '? df.merge(pd.DataFrame({"city": ["Oslo", "Rome"], "zone": [1, 2]}), on="city", how="left")',
    '? df.melt(id_vars="city", value_vars=["units", "cents"])',
    '? pd.concat([df["units"], df["cents"]]).reset_index(drop=True).dtype',
    '? df["units"].rolling(2).sum()',
    '? df["price"].pct_change().round(6)',
    '? df["units"].quantile([0.25, 0.5])',
    '? df.groupby("city")["price"].transform("mean").round(6)',
    '? df["day"].str.split("-").str[1].astype(int)',
    '? pd.to_datetime(df["day"]).dt.month.value_counts().sort_index()',
    '? pd.Series(df["units"].values, index=pd.to_datetime(df["day"])).sort_index().resample("QE").sum()',
    '? pd.to_datetime(df["day"]).astype("int64")',
    '? (pd.to_datetime(df["day"]).max() - pd.to_datetime(df["day"]).min()).days',
    '? df["city"].astype("category").cat.codes',
    '? pd.get_dummies(df["city"]).sum()',
    '? df.sample(3, random_state=5).index.tolist()',
    '? df.set_index("city").loc["Oslo":"Oslo"]',
    '? df.corr(numeric_only=True).round(6)',
    '? df.isna().sum()',
    '? df.memory_usage(index=False)',
    '? df["units"].mode()',
    '? df.nlargest(2, "price")',
    '? df.groupby("city").apply(lambda g: g["units"].sum() * 10**9, include_groups=False)',
    '? df["units"].to_frame().T',
    '? df.iloc[0].to_dict()',
    '? np.random.default_rng(len(df)).integers(0, 100, 5) + df["units"].iloc[0]',
    '? np.random.RandomState(0).permutation(df["units"].to_numpy())',
    '? df["units"].map({1: "one"}).isna().sum()',
    '? df["units"].sum() / 0',
    '? np.float64(1) / df["units"].to_numpy()',
    '? np.sqrt(df["score"].to_numpy())',
    '? [type(value).__name__ for value in (df["units"].iloc[0], df["units"].sum(), df["price"].sum(), len(df))]',
    '? isinstance(df["units"].iloc[0], np.int64)',
    '? pd.read_csv(io.StringIO(df.to_csv(index=False))).dtypes',
    '? pd.read_json(io.StringIO(df.to_json(orient="records"))).dtypes',
    '? sum(df["units"] * 10**9)',
    '? np.cov(df["units"], df["price"]).round(5)',
]


def programs(seed, count):
    """Programs; the same seed gives the same ones."""
    source = random.Random(seed)
    made = []
    for _ in range(count):
        rows = source.randint(4, 9)
        table = {name: make(source, rows) for name, make in COLUMNS.items()}
        lines = [f'df = pd.DataFrame({table!r})', 'df["score"] = pd.to_numeric(df["score"])']
        for step in source.sample(STEPS, source.randint(4, 9)):
            # What a step needs may not be there: its error is compared as well.
            body = f'print(show({step[2:]}))' if step.startswith('? ') else step
            lines.append(f'try:\n    {body}\nexcept Exception as error:\n    print(type(error).__name__, error)')
        made.append('\n'.join(lines))
    return made
