from io import StringIO

import pandas as pd

CSV = """region,product,units,price,date
North,Widget,10,2.50,2025-01-05
South,Widget,7,2.50,2025-01-06
North,Gadget,3,19.99,2025-01-09
East,Gadget,5,18.75,2025-02-01
South,Widget,,2.40,2025-02-03
West,Doohickey,12,0.99,2025-02-11
East,Widget,20,2.35,2025-03-02
"""


def main() -> None:
    df = pd.read_csv(StringIO(CSV), parse_dates=['date'])
    print(df)
    print(df.dtypes)
    df['units'] = df['units'].fillna(0).astype(int)
    df['revenue'] = df['units'] * df['price']
    summary = (
        df.groupby('region')
        .agg(total_units=('units', 'sum'), revenue=('revenue', 'sum'), products=('product', 'nunique'))
        .sort_values('revenue', ascending=False)
    )
    print('\nSummary by region:')
    print(summary)
    print(f'Best region: {summary.index[0]} with ${summary["revenue"].iloc[0]:,.2f}')
    df['share'] = df.groupby('region')['revenue'].transform(lambda s: s / s.sum()).round(3)
    print(df[['region', 'product', 'share']].to_string(index=False))
    print(df.groupby([df['date'].dt.month_name(), 'region'])['revenue'].sum())


if __name__ == '__main__':
    main()
