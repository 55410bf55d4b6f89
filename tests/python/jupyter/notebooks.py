"""Notebooks of the kinds that documentation has, as lists of cells. `compare_notebooks.py` runs them.

What a cell shows does not depend on the clock, the machine, chance, or the version of Python beyond what
`compare_notebooks.py` takes out.
"""


def _cells(text):
    """The cells of a text, which lines with `# %%` separate."""
    return [cell.strip("\n") for cell in text.split("\n# %%\n")]


NOTEBOOKS = {}

NOTEBOOKS["pandas_tables"] = _cells(
    r"""
import numpy as np
import pandas as pd
df = pd.DataFrame(
    {
        "city": ["Berlin", "Paris", "Roma", "Berlin", "Paris"],
        "year": [2020, 2020, 2021, 2021, 2022],
        "value": [1.5, 2.25, np.nan, 4.0, 1e6],
        "when": pd.date_range("2024-01-01", periods=5, freq="D"),
    }
)
df
# %%
df.describe()
# %%
df.dtypes
# %%
df.info()
# %%
df.groupby("city").agg({"value": ["mean", "max"], "year": "count"})
# %%
display(df.head(2), df["value"].round(1), "text", 3)
# %%
pd.DataFrame(np.arange(4000).reshape(200, 20))
# %%
pd.DataFrame(np.arange(60).reshape(2, 30))
# %%
with pd.option_context("display.max_rows", 4, "display.max_columns", 4):
    display(pd.DataFrame(np.arange(100).reshape(10, 10)))
# %%
df.pivot_table(index="city", columns="year", values="value", aggfunc="sum")
# %%
df.value_counts("city")
# %%
pd.crosstab(df.city, df.year)
# %%
pd.Series([1, 2, 3], name="s", index=pd.Index(list("abc"), name="i"))
# %%
pd.Categorical(list("abca"), ordered=True)
# %%
df["nothing"]
# %%
pd.DataFrame({"<b>": ["<i>x</i>", "a & b", "$x$"], "π": ["ü", "日本", "🙂"]})
# %%
df.set_index("when").resample("2D")["value"].sum()
# %%
print(df)
# %%
df.T
# %%
pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", "y"]).to_frame(index=True)
# %%
pd.DataFrame()
# %%
print(df.to_markdown() if False else df.to_csv(index=False))
# %%
df.loc[9]
"""
)

NOTEBOOKS["pandas_styler"] = _cells(
    r"""
import numpy as np
import pandas as pd
df = pd.DataFrame(np.arange(12).reshape(4, 3) / 7, columns=list("abc"))
df.style
# %%
df.style.format("{:.2f}").highlight_max(color="lightgreen").set_caption("largest")
# %%
df.style.background_gradient(cmap="viridis")
# %%
df.style.bar(color="#d65f5f", vmin=0)
# %%
df.style.map(lambda value: "color: red" if value > 1 else "").hide(axis="index")
# %%
print(df.style.to_latex())
# %%
styled = df.style.set_table_styles([{"selector": "th", "props": "color: blue;"}]).set_properties(**{"width": "5em"})
display(styled, df)
# %%
df.style.format(lambda value: 1 / 0)
# %%
pd.set_option("display.float_format", "{:.1f}".format)
df
# %%
pd.reset_option("display.float_format")
df.iloc[0]
# %%
df.plot(title="a frame");
# %%
df.plot.bar(subplots=True, figsize=(4, 6))
# %%
df.hist()
"""
)

NOTEBOOKS["matplotlib_figures"] = _cells(
    r"""
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 6, 50)
plt.plot(x, np.sin(x))
# %%
plt.plot(x, np.cos(x))
plt.title("cosine")
plt.show()
# %%
fig, axes = plt.subplots(2, 2, figsize=(8, 5))
axes[0, 0].scatter(x, x)
axes[1, 1].hist(x)
fig.suptitle("four")
plt.tight_layout()
# %%
for power in (1, 2, 3):
    print("figure", power)
    plt.figure(figsize=(3, 2))
    plt.plot(x, x**power)
    plt.show()
# %%
for power in (1, 2):
    plt.figure(figsize=(3, 2))
    plt.plot(x, x**power)
print("after")
# %%
fig, ax = plt.subplots(figsize=(4, 3))
ax.plot(x, x)
fig
# %%
fig
# %%
plt.close("all")
fig, ax = plt.subplots()
plt.close(fig)
fig
# %%
fig, ax = plt.subplots(figsize=(3, 3))
ax.pie([1, 2, 3], labels=list("abc"))
fig.savefig("pie.png")
fig.savefig("pie.pdf")
plt.close(fig)
import os
sorted(name for name in os.listdir() if name.startswith("pie"))
# %%
from IPython.display import Image
Image("pie.png")
# %%
Image("pie.png", width=100)
# %%
plt.imshow(np.arange(9).reshape(3, 3))
plt.colorbar();
# %%
plt.plot([1, 2], [1])
# %%
plt.gcf()
# %%
%matplotlib inline
plt.plot([1, 2]);
# %%
plt.figure()
# %%
plt.text(0.5, 0.5, r"$\int_0^1 x\,dx = \frac{1}{2}$", fontsize=20)
plt.axis("off")
plt.show()
# %%
plt.gca(), plt.get_backend()
# %%
plt.get_fignums()
# %%
plt.plot([1, 2], label="a")
plt.legend()
plt.savefig("kept.svg")
1 / 0
# %%
ax = plt.figure(figsize=(4, 4)).add_subplot(projection="3d")
ax.plot_surface(*np.meshgrid([1, 2], [1, 2]), np.eye(2))
"""
)

NOTEBOOKS["matplotlib_formats"] = _cells(
    r"""
%matplotlib inline
import matplotlib.pyplot as plt
plt.plot([1, 3, 2])
plt.show()
# %%
%config InlineBackend.figure_format = "svg"
plt.plot([1, 3, 2])
plt.show()
# %%
%config InlineBackend.figure_format = "retina"
plt.plot([1, 3, 2])
plt.show()
# %%
import matplotlib_inline.backend_inline as backend
backend.set_matplotlib_formats("png", "svg")
plt.plot([1, 3, 2])
plt.show()
# %%
%config InlineBackend.figure_formats = {"png"}
%config InlineBackend.rc = {"figure.figsize": (3, 2)}
plt.plot([1, 3, 2])
# %%
plt.rcParams["figure.dpi"] = 50
plt.rcParams["figure.figsize"] = (6, 3)
plt.plot([1, 3, 2]);
# %%
%config InlineBackend.print_figure_kwargs = {"bbox_inches": None}
plt.plot([1, 3, 2]);
# %%
%config InlineBackend.close_figures = False
fig, ax = plt.subplots()
ax.plot([1, 2])
# %%
ax.set_title("added")
# %%
plt.close("all")
%config InlineBackend.close_figures = True
# %%
from IPython.display import set_matplotlib_formats
# %%
with plt.style.context("dark_background"):
    plt.plot([1, 2])
    plt.show()
# %%
with plt.xkcd():
    plt.plot([1, 2])
# %%
from matplotlib.animation import FuncAnimation
from IPython.display import HTML
fig, ax = plt.subplots(figsize=(2, 2))
line, = ax.plot([0, 1])
moving = FuncAnimation(fig, lambda n: line.set_ydata([0, n]), frames=3)
html = moving.to_jshtml()
plt.close(fig)
type(HTML(html)), html.count("data:image/png"), "onceloop" in html or "loop" in html
# %%
%config InlineBackend
# %%
%matplotlib --list
# %%
%matplotlib nothing
# %%
%config InlineBackend.figure_format = "jpeg"
plt.plot([1, 3, 2]);
# %%
%config InlineBackend.figure_format = "pdf"
plt.figure(figsize=(2, 1)).add_subplot().plot([1, 2]);
"""
)

NOTEBOOKS["seaborn"] = _cells(
    r"""
import numpy as np
import pandas as pd
import seaborn as sns
sns.set_theme(font="DejaVu Sans")
df = pd.DataFrame({"x": np.arange(20), "y": np.arange(20) % 7, "kind": ["a", "b"] * 10})
sns.scatterplot(data=df, x="x", y="y", hue="kind")
# %%
sns.relplot(data=df, x="x", y="y", col="kind")
# %%
sns.pairplot(df, hue="kind", height=1.5)
# %%
grid = sns.FacetGrid(df, col="kind")
grid.map(sns.histplot, "y")
# %%
sns.heatmap(df[["x", "y"]].corr(), annot=True);
# %%
sns.color_palette("husl", 4)
# %%
sns.color_palette("viridis", as_cmap=True)
# %%
import seaborn.objects as so
so.Plot(df, x="x", y="y", color="kind").add(so.Line())
# %%
sns.boxplot(df, x="kind", y="y").set(title="boxes")
# %%
sns.lineplot(x=[1, 2], y=["a"])
"""
)

NOTEBOOKS["plotly"] = _cells(
    r"""
import plotly.graph_objects as go
import plotly.io as pio
fig = go.Figure(go.Scatter(x=[1, 2, 3], y=[4, 1, 2]))
fig.show()
# %%
fig
# %%
import plotly.express as px
px.bar(x=["a", "b"], y=[1, 3], title="bars")
# %%
fig.update_layout(title="changed", width=400)
# %%
from plotly.subplots import make_subplots
both = make_subplots(rows=1, cols=2)
both.add_trace(go.Bar(y=[1, 2]), row=1, col=1)
both.add_trace(go.Pie(values=[1, 2])) if False else None
both.show()
# %%
pio.renderers.default
# %%
pio.renderers
# %%
fig.show(renderer="notebook_connected")
# %%
fig.show("json")
# %%
print(fig)
# %%
len(fig.to_html(include_plotlyjs="cdn", div_id="x")) > 500
# %%
fig.to_image("png")
# %%
go.Scatter(nothing=1)
# %%
fig.data[0]
# %%
fig.layout
# %%
pio.renderers.default = "plotly_mimetype"
fig
# %%
go.FigureWidget
"""
)

NOTEBOOKS["widgets_basic"] = _cells(
    r"""
import ipywidgets as widgets
slider = widgets.IntSlider(value=3, max=9, description="n")
slider
# %%
slider.value = 7
slider
# %%
log = []
slider.observe(lambda change: log.append((change["old"], change["new"])), names="value")
slider.value = 2
log
# %%
box = widgets.HBox([widgets.Button(description="go"), widgets.Text("ada"), slider])
display(box)
# %%
widgets.VBox([widgets.Checkbox(True), widgets.Dropdown(options=["a", "b"], value="b")])
# %%
button = widgets.Button(description="count")
button.on_click(lambda _: print("clicked"))
button.click()
# %%
progress = widgets.IntProgress(max=5)
display(progress)
for step in range(5):
    progress.value = step + 1
# %%
tab = widgets.Tab([widgets.Label("one"), widgets.HTML("<b>two</b>")], titles=["first", "second"])
tab
# %%
widgets.link((slider, "value"), (progress, "value"))
slider.value = 4
progress.value
# %%
print(slider)
# %%
repr(box)
# %%
slider.close()
slider
# %%
widgets.IntSlider(value="text")
# %%
upload = widgets.FileUpload()
upload.value
# %%
widgets.Image(value=b"\x89PNG", format="png")
# %%
widgets.DatePicker(), widgets.ColorPicker(value="red")
# %%
play = widgets.Play(min=0, max=3)
widgets.jsdlink((play, "value"), (progress, "value"))
play
# %%
len(widgets.Widget.widgets) if hasattr(widgets.Widget, "widgets") else None
# %%
widgets.Widget.close_all()
"""
)

NOTEBOOKS["widgets_output"] = _cells(
    r"""
import ipywidgets as widgets
from IPython.display import HTML, clear_output, display
out = widgets.Output()
out
# %%
with out:
    print("inside")
    display(HTML("<b>bold</b>"))
print("outside")
# %%
out.append_stdout("more\n")
out.append_display_data(3)
# %%
out.outputs
# %%
with out:
    1 / 0
print("goes on")
# %%
out.clear_output()
out.outputs
# %%
@out.capture()
def shout(text):
    print(text.upper())
    return len(text)

shout("quiet")
# %%
from ipywidgets import interact, interact_manual, interactive, fixed
@interact(x=(0, 4), name="ada")
def show(x, name):
    print(x, name)
# %%
interact(lambda x: x**2, x=3)
# %%
def plus(a, b=1):
    display(a + b)
    return a + b

kept = interactive(plus, a=5, b=fixed(2))
display(kept)
# %%
kept.result, kept.kwargs
# %%
kept.children[0].value = 8
kept.result
# %%
@interact_manual(flag=True)
def maybe(flag):
    print(flag)
# %%
@interact(n=[1, 2])
def broken(n):
    return 1 / 0
# %%
a, b = widgets.IntText(1), widgets.IntText(2)
shown = widgets.interactive_output(plus, {"a": a, "b": b})
widgets.VBox([a, b, shown])
# %%
with widgets.Output() as nested:
    print("in")
nested
# %%
import matplotlib.pyplot as plt
drawing = widgets.Output()
with drawing:
    plt.plot([1, 2])
    plt.show()
drawing
# %%
with drawing:
    clear_output(wait=True)
    print("new")
[output["output_type"] for output in drawing.outputs]
"""
)

NOTEBOOKS["sympy"] = _cells(
    r"""
import sympy as sp
from sympy import symbols, integrate, sin, Matrix, Eq, Rational, init_printing
x, y = symbols("x y")
integrate(sin(x) ** 2, x)
# %%
init_printing()
sp.expand((x + y) ** 3)
# %%
Matrix([[1, x], [y, Rational(1, 2)]])
# %%
[x**2, y / 2]
# %%
{"a": x, "b": [y]}
# %%
Eq(x, 1), sp.solve(x**2 - 2, x)
# %%
display(sp.Integral(1 / x, x))
# %%
print(sp.latex(sp.sqrt(x)), sp.pretty(sp.sqrt(x)))
# %%
init_printing(use_latex=False)
x**2 / y
# %%
init_printing(use_latex="mathjax")
x**2 / y
# %%
sp.Symbol("alpha_1")
# %%
sp.pprint(x**2)
# %%
1.5, 3, "text", None
# %%
sp.sympify("x +* y")
# %%
sp.S(10) / 4
# %%
from sympy.plotting import plot
plot(x**2, (x, -1, 1))
# %%
sp.series(sp.cos(x), x)
"""
)

NOTEBOOKS["scikit_learn"] = _cells(
    r"""
import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
data = load_iris(as_frame=True)
data.frame.head()
# %%
model = LogisticRegression(max_iter=500)
model
# %%
model.fit(data.data, data.target)
# %%
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
pipe = make_pipeline(ColumnTransformer([("n", StandardScaler(), [0, 1]), ("c", OneHotEncoder(), [2])]), model)
pipe
# %%
round(model.score(data.data, data.target), 3)
# %%
from sklearn.metrics import ConfusionMatrixDisplay, classification_report
print(classification_report(data.target, model.predict(data.data)))
# %%
ConfusionMatrixDisplay.from_estimator(model, data.data, data.target)
# %%
from sklearn.model_selection import GridSearchCV
GridSearchCV(model, {"C": [0.1, 1]}, cv=3).fit(data.data, data.target)
# %%
import sklearn
with sklearn.config_context(display="text"):
    display(model)
# %%
print(model)
# %%
LogisticRegression().predict([[1]])
# %%
LogisticRegression(max_iter=2).fit(data.data, data.target).n_iter_
# %%
from sklearn.tree import DecisionTreeClassifier, plot_tree
plot_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(data.data, data.target));
"""
)

NOTEBOOKS["tqdm"] = _cells(
    r"""
from tqdm import tqdm
for _ in tqdm(range(3), mininterval=0):
    pass
# %%
import sys
for _ in tqdm(range(2), desc="out", file=sys.stdout, mininterval=0):
    pass
# %%
from tqdm.notebook import tqdm as bar
for _ in bar(range(4), desc="cells", mininterval=0):
    pass
# %%
from tqdm.auto import tqdm as auto, trange
auto.__module__
# %%
with auto(total=10, leave=False) as progress:
    progress.update(10)
# %%
for i in trange(2, desc="outer"):
    for j in trange(2, desc="inner", leave=False):
        pass
# %%
import pandas as pd
auto.pandas(desc="rows")
pd.DataFrame({"a": [1, 2]}).progress_apply(lambda row: row.a, axis=1)
# %%
for n in bar(range(3)):
    if n == 1:
        raise RuntimeError("stopped")
# %%
tqdm.write("a line")
# %%
from tqdm.autonotebook import tqdm as autonotebook
autonotebook.__module__
# %%
from tqdm.contrib.concurrent import thread_map
thread_map(lambda x: x * 2, [1, 2], max_workers=1)
"""
)

NOTEBOOKS["rich"] = _cells(
    r"""
from rich import print as show
show("[bold red]red[/] and [link=https://example.org]link[/]")
# %%
from rich.console import Console
from rich.table import Table
console = Console()
table = Table(title="cities")
table.add_column("name")
table.add_column("n", justify="right")
table.add_row("Roma", "1")
table
# %%
console.print(table)
# %%
from rich.markdown import Markdown
Markdown("# Title\n\n* one\n* two\n\n`code`")
# %%
from rich.pretty import pprint
pprint({"a": list(range(5)), "b": {"c": None}})
# %%
from rich.panel import Panel
Panel("text", title="panel")
# %%
console.is_jupyter, console.width, console.color_system
# %%
%load_ext rich
[1, {"a": "b"}, None, True]
# %%
from rich.syntax import Syntax
Syntax("def f():\n    return 1", "python")
# %%
from rich.progress import track
for _ in track(range(3), description="working"):
    pass
# %%
print("plain")
# %%
%unload_ext rich
[1, None]
# %%
console.rule("rule")
# %%
from rich.tree import Tree
tree = Tree("root")
tree.add("leaf")
tree
# %%
from rich import inspect
inspect(3, methods=False)
# %%
console.log
# %%
from rich.traceback import install
install(width=80);
# %%
def fail(n):
    return 1 / n

fail(0)
"""
)

NOTEBOOKS["errors"] = _cells(
    r"""
1 / 0
# %%
def outer(x):
    return inner(x) + 1


def inner(x):
    values = {"a": x}
    # A comment before the line.
    return values["missing"]


outer(3)
# %%
try:
    int("x")
except ValueError as error:
    raise RuntimeError("while reading") from error
# %%
try:
    int("x")
except ValueError:
    None.nothing
# %%
raise KeyError("quiet") from None
# %%
if True
    pass
# %%
print("before"
# %%
x = 1
  y = 2
# %%
def f():
return 1
# %%
assert 1 == 2, "one is not two"
# %%
assert []
# %%
undefined_name
# %%
import no_such_module_anywhere
# %%
from math import nothing_there
# %%
class Own(Exception):
    def __str__(self):
        return "own text\nin two lines"


raise Own
# %%
def recurse(n):
    return recurse(n + 1)


recurse(0)
# %%
"text" + 1
# %%
[1, 2][5]
# %%
raise Exception
# %%
error = ValueError("with notes")
error.add_note("the first note")
error.add_note("the second")
raise error
# %%
eval("1 +")
# %%
exec("def g():\n    raise OSError(2, 'no file', 'name')\n")
g()
# %%
open("/no/such/file")
# %%
(lambda: [n / 0 for n in range(3)])()
# %%
raise StopIteration(3)
# %%
print("printed first")
import sys
print("on stderr", file=sys.stderr)
raise ValueError("then this")
# %%
raise 3
# %%
$x = 1
# %%
"unterminated
# %%
f"{undefined_in_f}"
# %%
return 1
# %%
await 3
# %%
"after all errors"
"""
)

NOTEBOOKS["errors_special"] = _cells(
    r"""
import json
import warnings
warnings.warn("careful")
# %%
def old():
    warnings.warn("old is old", DeprecationWarning, stacklevel=2)
    return 1


old()
# %%
warnings.warn("again", UserWarning)
# %%
with warnings.catch_warnings():
    warnings.simplefilter("error")
    warnings.warn("as error")
# %%
class Rendered(Exception):
    def _render_traceback_(self):
        return ["my own", "traceback"]


raise Rendered("hidden")
# %%
class BadRender(Exception):
    def _render_traceback_(self):
        return 1 / 0


raise BadRender("text")
# %%
class BadStr(Exception):
    def __str__(self):
        raise ValueError("no text")


raise BadStr
# %%
class BadRepr:
    def __repr__(self):
        raise ValueError("no repr")


BadRepr()
# %%
class BadHtml:
    def __repr__(self):
        return "plain"

    def _repr_html_(self):
        return 1 / 0


BadHtml()
# %%
class NotImplementedHtml:
    def _repr_html_(self):
        raise NotImplementedError

    def __repr__(self):
        return "plain"


NotImplementedHtml()
# %%
class NoneRepr:
    def __repr__(self):
        return None


NoneRepr()
# %%
get_ipython().showtraceback
try:
    1 / 0
except ZeroDivisionError:
    get_ipython().showtraceback()
print("after")
# %%
import traceback
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
# %%
%xmode Plain
def fail():
    raise ValueError("plain")
fail()
# %%
%xmode Context
fail()
# %%
%xmode Verbose
fail()
# %%
%xmode Minimal
fail()
# %%
%xmode Docs
fail()
# %%
%xmode Context
def handler(shell, kind, value, tb, tb_offset=None):
    print("handled", kind.__name__, value)

get_ipython().set_custom_exc((ValueError,), handler)
# %%
fail()
# %%
get_ipython().set_custom_exc((), None)
%tb
# %%
1 / 0
# %%
%tb Plain
# %%
raise KeyboardInterrupt
# %%
def hidden():
    __tracebackhide__ = True
    raise ValueError("in a hidden frame")

hidden()
# %%
import unittest
class Case(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(1, 2)
unittest.main(argv=[""], exit=False, verbosity=0).result.wasSuccessful()
# %%
import sys
sys.last_value
# %%
raise SystemExit
# %%
raise SystemExit(2)
# %%
5
"""
)

NOTEBOOKS["errors_groups"] = _cells(
    r"""
raise ExceptionGroup("several", [ValueError("one"), TypeError("two")])
# %%
try:
    raise ExceptionGroup("nested", [ValueError(1), ExceptionGroup("in", [KeyError("k")])])
except* ValueError as group:
    print("caught", group.exceptions)
# %%
import asyncio
async def fail(n):
    raise ValueError(n)

async with asyncio.TaskGroup() as group:
    group.create_task(fail(1))
    group.create_task(fail(2))
# %%
raise BaseExceptionGroup("base", [KeyboardInterrupt()])
# %%
print("end")
"""
)

NOTEBOOKS["display"] = _cells(
    r"""
from IPython.display import *
HTML("<b>bold</b>")
# %%
display(Markdown("# Title"), Latex(r"$x^2$"), Math(r"\frac12"), HTML("<i>x</i>"))
# %%
JSON({"a": [1, 2, {"b": None}]})
# %%
JSON([1], expanded=True, root="top")
# %%
SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>')
# %%
Javascript("console.log(1)")
# %%
Javascript("1", lib=["https://example.org/a.js"], css=["https://example.org/a.css"])
# %%
IFrame("https://example.org", width=300, height=200)
# %%
YouTubeVideo("abc", width=100, start=3)
# %%
Image(url="https://example.org/a.png", width=10, alt="a picture")
# %%
Image(data=b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x03")
# %%
Audio([0, 0.5, -0.5], rate=8000)
# %%
import numpy as np
Audio(np.sin(np.arange(100)), rate=8000, autoplay=True)
# %%
Video("https://example.org/a.mp4", width=100)
# %%
with open("some.txt", "w") as file:
    file.write("text")
FileLink("some.txt")
# %%
FileLink("none.txt")
# %%
import os
os.makedirs("folder", exist_ok=True)
open("folder/a.txt", "w").close()
FileLinks("folder")
# %%
Code("def f():\n    return 1", language="python")
# %%
Pretty("pretty"), TextDisplayObject
# %%
ProgressBar(4)
# %%
bar = ProgressBar(3)
for _ in bar:
    pass
# %%
display({"text/plain": "raw", "text/html": "<b>raw</b>"}, raw=True, metadata={"text/html": {"isolated": True}})
# %%
publish_display_data({"application/x-own+json": {"a": 1}, "text/plain": "own"})
# %%
display(3, exclude=["text/html"]), display(HTML("x"), include=["text/html"])
# %%
display()
# %%
display("text", [1, 2], None)
# %%
GeoJSON({"type": "Point", "coordinates": [1, 2]})
# %%
display_html("<b>raw</b>", raw=True)
# %%
display(HTML("<p>with metadata</p>"), metadata={"own": 1})
# %%
ScribdDocument, DisplayHandle
# %%
HTML(filename="none.html")
# %%
HTML("<iframe src='https://example.org'></iframe>")
# %%
VimeoVideo("3")
"""
)

NOTEBOOKS["display_updates"] = _cells(
    r"""
from IPython.display import HTML, Markdown, clear_output, display, update_display
handle = display("first", display_id=True)
# %%
handle.update("second")
# %%
handle.display("third")
# %%
display(HTML("<b>1</b>"), display_id="named")
print("between")
display(HTML("<b>1 again</b>"), display_id="named")
# %%
update_display(Markdown("**2**"), display_id="named")
# %%
handle
# %%
for step in range(3):
    clear_output(wait=True)
    print("step", step)
# %%
print("gone")
display("gone too")
clear_output()
print("kept")
# %%
print("stays")
clear_output(wait=True)
# %%
print("only cleared at the end")
clear_output()
# %%
print("x")
clear_output(wait=True)
1 / 0
# %%
a = display(display_id="twice")
# %%
a.update({"text/plain": "raw"}, raw=True)
# %%
update_display("nobody", display_id="unknown")
# %%
import sys
print("out 1"); print("err 1", file=sys.stderr); print("out 2")
display("shown")
print("out 3")
# %%
handle = display(1, display_id=True)
for n in range(5):
    handle.update(n)
# %%
display(1, 2, display_id="both")
# %%
print("a", end="\r")
print("bb", end="\r")
print("c")
# %%
print("12345", end="")
print("\b\b", end="")
print("x")
# %%
sys.stdout.write("no newline")
# %%
sys.stderr.write("to stderr\n");
# %%
sys.stdout.flush(), sys.stdout.isatty(), sys.stdout.encoding.lower()
# %%
print(b"bytes", file=sys.stdout)
sys.stdout.buffer.write(b"binary\n")
# %%
import os, time
os.write(1, b"written to the descriptor\n")
# A thread of ipykernel's reads the descriptor; its text is not waited for at a cell's end.
time.sleep(1)
"""
)

NOTEBOOKS["magics"] = _cells(
    r"""
%time sum(range(10))
# %%
%%time
total = sum(range(10))
total
# %%
result = %timeit -o -n 2 -r 2 -q sum(range(10))
type(result).__name__, result.loops, result.repeat
# %%
%timeit -n 1 -r 1 pass
# %%
%%timeit -n 2 -r 2 x = 3
x + 1
# %%
%%capture captured
import sys
print("hidden")
print("err", file=sys.stderr)
display("rich")
3
# %%
captured.stdout, captured.stderr, [output.data for output in captured.outputs]
# %%
captured()
# %%
captured.show()
# %%
%%writefile module_here.py
def greet():
    return "hello from a file"
# %%
%%writefile -a module_here.py

VALUE = 3
# %%
import module_here
module_here.greet(), module_here.VALUE
# %%
%run module_here.py
VALUE
# %%
%load module_here.py
# %%
%pycat module_here.py
# %%
%who
# %%
%who_ls str
# %%
%whos int
# %%
%%html
<b>html</b>
# %%
%%javascript
console.log("js")
# %%
%%markdown
**bold**
# %%
%%latex
$x^2$
# %%
%%svg
<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>
# %%
%pwd
# %%
%no_such_magic
# %%
%%no_such_cell_magic
x
# %%
%precision 3
3.14159265
# %%
%precision
2.718281828
# %%
%pprint
[1, 2]
# %%
%pprint
# %%
value = 42
%reset_selective -f ^value$
"value" in globals()
# %%
%alias_magic t timeit
# %%
%lsmagic
# %%
%env NEW_NAME=abc
# %%
%env NEW_NAME
# %%
%psearch module_he*
# %%
%prun -q sum(range(10))
# %%
%%prun -q -s cumulative
sum(range(10))
# %%
%macro -q two 1-2
# %%
%autosave 60
# %%
%config
# %%
%colors
# %%
%dirs
# %%
%bookmark -l
# %%
%quickref
# %%
%sx echo hi
# %%
%time 1 / 0
# %%
%%time
undefined_here
# %%
%timeit undefined_there
# %%
%magic
# %%
%xdel module_here
# %%
%reset -f
"module_here" in globals()
"""
)

NOTEBOOKS["magics_files"] = _cells(
    r"""
%%file script.py
import sys
print("script", sys.argv[1:], __name__)
value = 11
# %%
%run script.py one two
# %%
value
# %%
%run -n script.py
# %%
%run none.py
# %%
%%writefile broken.py
def fail():
    raise ValueError("in a file")


fail()
# %%
%run broken.py
# %%
import broken
# %%
%%writefile syntax.py
def f(:
# %%
import syntax
# %%
%%writefile small.ipynb
{"cells": [{"cell_type": "code", "source": ["nb_value = 5\n", "print('from a notebook')"], "metadata": {},
 "outputs": [], "execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
# %%
%run small.ipynb
# %%
%mkdir made
%cd made
# %%
%cd ..
# %%
%ls made
# %%
%save -f saved.py 1-2
# %%
%cat script.py
# %%
%rm broken.py
# %%
%%script python
print("in a script")
# %%
%%python
import sys
print("in python", sys.argv)
# %%
%%sh
echo shell
# %%
%%bash
for n in 1 2 3; do echo "line $n"; done
# %%
%%bash
echo to stderr >&2
exit 3
# %%
%%bash --out text --err other
echo kept
# %%
text, other
# %%
%load script.py
# %%
%load -r 1-2 script.py
# %%
%recall 1
# %%
%rerun 3
# %%
%edit script.py
# %%
%notebook exported.ipynb
# %%
import json
[cell["cell_type"] for cell in json.load(open("exported.ipynb"))["cells"]][:3]
# %%
%store value
# %%
del value
%store -r value
value
# %%
%load_ext autoreload
%autoreload 2
# %%
%%writefile changing.py
def version():
    return 1
# %%
import changing
changing.version()
# %%
%%writefile changing.py
def version():
    return "second"
# %%
import os
os.utime("changing.py", (2_000_000_000, 2_000_000_000))
# %%
changing.version()
# %%
%load_ext no_such_extension
# %%
%pushd made
%popd
# %%
%logstart
# %%
%logstop
# %%
%debug
"""
)

NOTEBOOKS["shell"] = _cells(
    r"""
!echo hello
# %%
!echo one; echo two
# %%
name = "ada"
!echo $name {name.upper()} $$HOME_NOT_SET "quoted"
# %%
lines = !printf 'a\nb\nc\n'
lines
# %%
lines.n, lines.s, lines.l
# %%
type(lines)
# %%
!echo text > made.txt
!cat made.txt | tr a-z A-Z
# %%
!ls *.txt
# %%
!ls no_such_file_here
# %%
!exit 3
_exit_code
# %%
!!echo captured
# %%
!no_such_command_at_all
# %%
import os
os.system("echo from os.system")
# %%
import subprocess
subprocess.run(["echo", "from subprocess"], capture_output=True, text=True).stdout
# %%
subprocess.run("echo to the terminal", shell=True)
# %%
!python -c "print(1 + 1)"
# %%
if True:
    !echo in a block
# %%
for n in range(2):
    out = !echo line {n}
    print(out)
# %%
!wc -l made.txt
# %%
!echo $PWD | wc -l
# %%
!export A=1; echo $A
# %%
get_ipython().system("echo by system"), get_ipython().getoutput("echo by getoutput")
# %%
get_ipython().getoutput("printf 'x y'", split=False)
# %%
%system echo magic
# %%
!echo err >&2
# %%
!seq 3 | sort -r
# %%
!head -c 3 made.txt
# %%
!echo $(echo nested) `echo ticks`
# %%
![ -f made.txt ] && echo there || echo gone
# %%
!printf '\033[31mred\033[0m\n'
# %%
!true
# %%
_exit_code
# %%
!grep -n te made.txt; sed s/t/T/ made.txt; awk '{print $1}' made.txt
"""
)

NOTEBOOKS["input_refused"] = _cells(
    r"""
input("name? ")
# %%
import getpass
getpass.getpass()
# %%
try:
    input()
except Exception as error:
    print(type(error).__name__, error)
# %%
import sys
sys.stdin.readline()
# %%
def ask():
    return int(input("a number: "))

ask()
# %%
breakpoint()
# %%
import pdb
pdb.set_trace()
# %%
print("goes on")
"""
)

NOTEBOOKS["asynchronous"] = _cells(
    r"""
import asyncio
async def double(n):
    await asyncio.sleep(0)
    return n * 2


await double(4)
# %%
await asyncio.gather(*(double(n) for n in range(4)))
# %%
async for n in (i async for i in (double_ for double_ in [])):
    print(n)
# %%
async def count():
    for n in range(3):
        yield n

[n async for n in count()]
# %%
async for n in count():
    print(n)
# %%
task = asyncio.create_task(double(8))
type(task).__name__
# %%
await task
# %%
task.result(), task.done()
# %%
double(3)
# %%
asyncio.run(double(2))
# %%
asyncio.get_running_loop().is_running()
# %%
async def fail():
    raise ValueError("in a coroutine")

await fail()
# %%
try:
    await asyncio.wait_for(asyncio.sleep(5), timeout=0.01)
except TimeoutError as error:
    print("too long", error)
# %%
async with asyncio.timeout(1):
    print("within")
# %%
import threading
thread = threading.Thread(target=lambda: print("in a thread"))
thread.start()
thread.join()
# %%
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(str.upper, ["a", "b"])))
# %%
await asyncio.to_thread(sum, [1, 2])
# %%
def broken():
    raise ValueError("in a thread")

thread = threading.Thread(target=broken, name="worker")
thread.start()
thread.join()
# %%
queue = asyncio.Queue()
await queue.put(1)
await queue.get()
# %%
%autoawait
# %%
x = await double(1); x
# %%
lambda: (yield)
# %%
future = asyncio.Future()
future.set_exception(ValueError("set"))
await future
# %%
async def printing():
    print("a task prints")

job = asyncio.ensure_future(printing())
await asyncio.sleep(0.05)
# %%
loop = asyncio.get_event_loop()
loop.is_running()
"""
)

NOTEBOOKS["pretty_printing"] = _cells(
    r"""
from dataclasses import dataclass, field


@dataclass
class Point:
    x: int
    y: float = 1.5
    tags: list = field(default_factory=list)


Point(1, tags=["a", "b"])
# %%
[Point(n, tags=list("abcdef")) for n in range(4)]
# %%
{"key": list(range(40)), "other": {"nested": ["text " * 5] * 4}}
# %%
list(range(1200))
# %%
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple, ChainMap
Counter("abracadabra"), OrderedDict(a=1), defaultdict(list, a=[1]), deque([1, 2], maxlen=3)
# %%
namedtuple("Pair", "a b")(1, 2)
# %%
{3, 1, 2}, frozenset([1]), set(), (), (1,), [], {}
# %%
import types
types.SimpleNamespace(a=1, b="x"), range(3), slice(1, 2), ..., NotImplemented
# %%
from enum import Enum, Flag, auto
class Color(Enum):
    RED = 1
class Right(Flag):
    R = auto()
    W = auto()
Color.RED, Right.R | Right.W, Color
# %%
import datetime
datetime.datetime(2024, 1, 2, 3, 4), datetime.timedelta(days=1), datetime.date(2024, 1, 2)
# %%
from pathlib import PurePosixPath
PurePosixPath("/a/b")
# %%
int, dict, Point, len, "".join, Point.__init__, lambda x: x
# %%
def function(a, b=1): ...
function
# %%
recursive = [1]
recursive.append(recursive)
recursive
# %%
"a long text " * 20
# %%
"two\nlines", b"bytes\x00", 'it"s', "tab\t"
# %%
{"b": 1, "a": 2, 3: [4]}
# %%
class Custom:
    def _repr_pretty_(self, p, cycle):
        with p.group(2, "Custom(", ")"):
            p.pretty([1, 2])


[Custom(), Custom()]
# %%
import re
re.compile("a+"), re.match("a", "abc")
# %%
ValueError("an exception"), [KeyError("k")]
# %%
print(Point(1), [Point(2)], sep="\n")
# %%
import os
type(os.environ)
# %%
iter([]), (n for n in []), zip(), map(str, [])
# %%
super, object(), property(), classmethod(len)
# %%
float("nan"), float("inf"), -0.0, 1e100, 1e-7, 10**30, 1 + 2j, True
# %%
{n: {m: "x" * m for m in range(12)} for n in range(3)}
# %%
x: int = 3
x
# %%
None
# %%
from typing import List
List[str], list[int], int | None
# %%
class Meta(type):
    def __repr__(cls):
        return "<own>"

class WithMeta(metaclass=Meta): ...
WithMeta
"""
)

NOTEBOOKS["files"] = _cells(
    r"""
from pathlib import Path
Path("data.csv").write_text("a,b\n1,2\n3,4\n")
# %%
import pandas as pd
pd.read_csv("data.csv")
# %%
sorted(path.name for path in Path().iterdir() if not path.name.startswith("."))
# %%
pd.read_csv("data.csv").to_json("data.json", orient="records")
Path("data.json").read_text()
# %%
import json
with open("x.json", "w") as file:
    json.dump({"a": [1]}, file)
json.load(open("x.json"))
# %%
json.loads("{'a': 1}")
# %%
import csv
with open("data.csv") as file:
    for row in csv.DictReader(file):
        print(row)
# %%
import sqlite3
with sqlite3.connect("base.db") as base:
    base.execute("create table t (a, b)")
    base.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y")])
pd.read_sql("select * from t", base)
# %%
import tempfile
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "f").write_bytes(b"\0" * 10)
    print(Path(folder, "f").stat().st_size)
# %%
import zipfile
with zipfile.ZipFile("a.zip", "w") as archive:
    archive.write("data.csv")
zipfile.ZipFile("a.zip").namelist()
# %%
pd.read_csv("none.csv")
# %%
import numpy as np
np.save("a.npy", np.eye(2))
np.load("a.npy")
# %%
import pickle
pickle.loads(pickle.dumps({"a": np.arange(3)}))
# %%
class Local:
    def __init__(self):
        self.value = 3

Path("local.pkl").write_bytes(pickle.dumps(Local()))
pickle.load(open("local.pkl", "rb")).value
# %%
from PIL import Image
picture = Image.new("RGB", (20, 10), "red")
picture.save("red.png")
picture
# %%
Image.open("red.png").resize((5, 5))
# %%
Image.new("RGB", (5, 5)).save("x.unknown")
# %%
import os
os.remove("none")
# %%
__name__, "__file__" in globals(), Path.cwd() == Path(os.getcwd())
# %%
import inspect
def own():
    "Its text."
    return 1

print(inspect.getsource(own))
# %%
inspect.getsource(Local)
"""
)

NOTEBOOKS["history"] = _cells(
    r"""
1 + 1
# %%
_ + 1
# %%
_, __, ___
# %%
In[1], Out[1]
# %%
_i, _ii, _i1, _1
# %%
len(In), sorted(Out)[:3]
# %%
Out
# %%
%history
# %%
%history -n 1-2
# %%
%history -o 1
# %%
%hist -l 2
# %%
x = 5;
# %%
x;
# %%
x
# %%
_oh is Out, _ih is In, _dh
# %%
print("no value")
# %%
_
# %%
Out[99]
# %%
None
# %%
_
# %%
_ = "taken"
3
# %%
_
# %%
del _
4
# %%
_
# %%
exec("5")
# %%
get_ipython().execution_count
# %%
get_ipython().history_manager.session_number >= 0
# %%
1; 2; 3
# %%
"comment" # after
# %%
"semicolon in a comment" # ;
# %%
"semicolon"; # comment
# %%
if True:
    "in a block"
# %%
a = b = 2
# %%
(c := 7)
# %%
def f(): return 1
f()
# %%
1
2
# %%
get_ipython().ast_node_interactivity = "all"
# %%
1
2
x = 4
[x]
# %%
get_ipython().ast_node_interactivity = "last_expr_or_assign"
y = 6
# %%
get_ipython().ast_node_interactivity = "none"
y
# %%
get_ipython().ast_node_interactivity = "last_expr"
y
# %%

# %%
# only a comment
# %%
'''text
in lines'''
"""
)

NOTEBOOKS["logging"] = _cells(
    r"""
import logging
import sys
logging.warning("by default")
# %%
logging.info("not shown")
# %%
logging.basicConfig(level=logging.DEBUG, format="%(levelname)s:%(name)s:%(message)s", force=True)
logging.debug("debug")
logging.getLogger("own.name").info("info %d", 3)
# %%
log = logging.getLogger("to stdout")
log.propagate = False
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)-8s %(message)s"))
log.addHandler(handler)
log.setLevel("INFO")
log.info("on stdout")
# %%
try:
    1 / 0
except ZeroDivisionError:
    log.exception("caught")
# %%
log.warning("one")
# %%
log.warning("%s %s", 1)
# %%
logging.getLogger("other").error("error")
# %%
logging.FileHandler("own.log").emit(logging.makeLogRecord({"msg": "into a file"}))
open("own.log").read()
# %%
logging.root.handlers[0].__class__, logging.getLogger().level
# %%
import warnings
logging.captureWarnings(True)
warnings.warn("captured", UserWarning)
# %%
logging.captureWarnings(False)
print("out"); print("err", file=sys.stderr); print("out again"); sys.stdout.flush()
# %%
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()) as text:
    print("redirected")
    display("not redirected")
text.getvalue()
# %%
old, sys.stdout = sys.stdout, io.StringIO()
print("kept")
sys.stdout, text = old, sys.stdout
text.getvalue()
# %%
print("to real", file=sys.__stdout__, flush=True); __import__("time").sleep(0.5)
# %%
print("a", "b", sep="", end="|", flush=True)
"""
)

NOTEBOOKS["text"] = _cells(
    r"""
print("\x1b[31mred\x1b[0m \x1b[1;32mbold green\x1b[0m")
# %%
for n in range(3000):
    print("line", n)
# %%
print("x" * 100_000)
# %%
print("ünïcode 日本語 🙂 \u202eright to left\u202c é")
# %%
"日本語", "🙂", "\u00e9", "\x00", "\u200b", "\ud800"
# %%
größe = 3; größe
# %%
π = 3.14; π
# %%
def 名前(): return "name"
名前()
# %%
raise ValueError("ünïcode 日本語 🙂")
# %%
print("tab\tcolumn\x07\x0b\x0cend")
# %%
print("<b>no html</b> &amp;")
# %%
"a\x1b[31mb"
# %%
print("\r\nwindows\r\n", end="")
# %%
print(*range(10), sep=", ")
# %%
print()
# %%
print("", end="")
# %%
print("a\0b")
# %%
import sys
sys.stdout.write("é" * 5 + "\n"); sys.stdout.writelines(["a\n", "b\n"])
# %%
"🙂🙂 error column", 1 / 0
# %%
x = "日本語"; x.nothing
# %%
import unicodedata
unicodedata.name("ß")
# %%
print("é" * 70000, "end")
# %%
"x" * 3000
# %%
import textwrap
print(textwrap.dedent('''
    indented
      more
    '''))
# %%
help(len)
# %%
len?
# %%
def documented(a, b=2):
    "Adds."
    return a + b

documented?
# %%
documented??
# %%
nothing_here?
# %%
?documented
# %%
*print*?
# %%
%pinfo documented
# %%
%pdoc documented
# %%
%pdef documented
# %%
%psource documented
# %%
import this
# %%
help(documented)
"""
)

NOTEBOOKS["shell_api"] = _cells(
    r"""
ip = get_ipython()
type(ip).__name__
# %%
ip.run_cell("inner = 3\ninner")
# %%
inner
# %%
ip.run_line_magic("pwd", "") == __import__("os").getcwd()
# %%
ip.run_cell_magic("capture", "kept", "print(1)")
kept.stdout
# %%
ip.ev("1 + 2"), ip.ex("created = 9"), created
# %%
ip.user_ns is globals(), "created" in ip.user_ns
# %%
from IPython.core.magic import register_cell_magic, register_line_cell_magic, register_line_magic


@register_line_magic
def shout(line):
    return line.upper()


@register_cell_magic
def count(line, cell):
    print(line, len(cell.splitlines()))


%shout hello
# %%
%%count words
a
b
# %%
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring


@magics_class
class Own(Magics):
    @magic_arguments()
    @argument("-n", type=int, default=1, help="how often")
    @argument("text")
    @line_magic
    def repeat(self, line):
        "Repeats a text."
        arguments = parse_argstring(self.repeat, line)
        return arguments.text * arguments.n


ip.register_magics(Own)
%repeat -n 3 ab
# %%
%repeat -n x ab
# %%
%repeat?
# %%
def before(info):
    print("before", len(info.raw_cell))

def after(result):
    print("after", result.success)

ip.events.register("pre_run_cell", before)
ip.events.register("post_run_cell", after)
# %%
1 / 0
# %%
ip.events.unregister("pre_run_cell", before)
ip.events.unregister("post_run_cell", after)
# %%
def replace(lines):
    return [line.replace("MAGIC", "42") for line in lines]

ip.input_transformers_cleanup.append(replace)
# %%
MAGIC
# %%
ip.input_transformers_cleanup.remove(replace)
import ast
class Integers(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value + 1), node) if type(node.value) is int else node

ip.ast_transformers.append(Integers())
# %%
1
# %%
ip.ast_transformers.clear()
ip.set_next_input("next cell")
# %%
ip.set_next_input("replaced", replace=True)
# %%
formatter = ip.display_formatter.formatters["text/plain"]
formatter.for_type(complex, lambda value, p, cycle: p.text("complex!"))
1j
# %%
html = ip.display_formatter.formatters["text/html"]
html.for_type(complex, lambda value: "<b>complex</b>")
[1j], 2j
# %%
1j
# %%
ip.display_formatter.format({"a": 1})
# %%
ip.push({"pushed": 1}); pushed
# %%
ip.find_magic("time").__name__, ip.magics_manager.lsmagic()["line"].keys() > {"time", "cd"}
# %%
ip.run_cell("1 / 0").error_in_exec
# %%
ip.run_cell("x = (").error_before_exec
# %%
ip.run_code("print('code')")
# %%
from IPython import get_ipython as again
again() is ip
# %%
ip.kernel is not None, hasattr(ip.kernel, "shell")
# %%
"IPKernelApp" in ip.config
# %%
ip.complete("ip.run_cell_m")[1]
# %%
ip.is_complete if hasattr(ip, "is_complete") else None
# %%
ip.check_complete("for x in y:")
# %%
ip.object_inspect("len").get("found") if isinstance(ip.object_inspect("len"), dict) else None
# %%
"IPython" in __import__("sys").modules, "ipykernel" in __import__("sys").modules
# %%
from IPython.paths import get_ipython_dir
type(get_ipython_dir()).__name__
# %%
from IPython.utils.capture import capture_output
with capture_output() as captured:
    print("in")
    display("rich")
captured.stdout, len(captured.outputs)
# %%
from IPython import version_info
version_info[:2]
# %%
from IPython.core.getipython import get_ipython as third
third() is ip
# %%
from IPython.lib.pretty import pretty, pprint
pprint({"a": 1}); pretty([1])
# %%
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance() is ip, InteractiveShell.initialized()
# %%
ip.banner1[:6], ip.colors, ip.autocall, ip.automagic
# %%
from IPython.terminal.interactiveshell import TerminalInteractiveShell
isinstance(ip, TerminalInteractiveShell)
# %%
try:
    from ipykernel.zmqshell import ZMQInteractiveShell
    found = isinstance(ip, ZMQInteractiveShell)
except ImportError as error:
    found = str(error)
found
# %%
ip.showsyntaxerror
ip.write if hasattr(ip, "write") else "no write"
# %%
ip.user_expressions({"a": "1 + 1", "b": "1 / 0"})["a"]
# %%
ip.displayhook.prompt_count, ip.parent_header["msg_type"]
# %%
ip.get_parent()["msg_type"]
"""
)

NOTEBOOKS["representations"] = _cells(
    r"""
class Html:
    def _repr_html_(self):
        return "<b>html</b>"

    def __repr__(self):
        return "plain"


Html()
# %%
[Html()]
# %%
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"text/plain": "plain", "text/html": "<b>x</b>", "application/json": {"a": 1}}
        return data, {"text/html": {"isolated": True}}


Bundle()
# %%
display(Bundle(), include=["text/html"])
# %%
class Png:
    def _repr_png_(self):
        import base64
        return base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        ), {"width": 10}

    def __repr__(self):
        return "a dot"


Png()
# %%
class All:
    def __repr__(self): return "all"
    def _repr_html_(self): return "<b>all</b>", {"m": 1}
    def _repr_markdown_(self): return "**all**"
    def _repr_latex_(self): return "$all$"
    def _repr_json_(self): return {"all": [1]}, {"expanded": True}
    def _repr_svg_(self): return "<svg/>"
    def _repr_javascript_(self): return "all()"
    def _repr_jpeg_(self): return b"\xff\xd8"
    def _repr_pdf_(self): return b"%PDF"


All()
# %%
display(All(), exclude=["image/jpeg"])
# %%
class Nothing:
    def _repr_html_(self):
        return None

    def __repr__(self):
        return "nothing"


Nothing()
# %%
class Display:
    def _ipython_display_(self):
        print("by itself")
        display("more")


Display()
# %%
display(Display(), Html())
# %%
class Wrong:
    def _repr_html_(self):
        return 3

    def __repr__(self):
        return "wrong"


Wrong()
# %%
class Getattr:
    def __getattr__(self, name):
        return lambda *arguments, **options: f"made up {name}"

    def __repr__(self):
        return "getattr"


Getattr()
# %%
class Lines:
    def __repr__(self):
        return "one\ntwo\n  three"


[Lines(), {"a": Lines()}]
# %%
Html
# %%
class ClassRepr(type):
    def _repr_html_(cls):
        return "<i>class</i>"


class Uses(metaclass=ClassRepr): ...
Uses
# %%
class BadBundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "x", "application/json": {"nan": float("nan"), "set": {1}}}


BadBundle()
# %%
class Numbers:
    def _repr_json_(self):
        import datetime
        import numpy as np
        return {"i": np.int64(3), "f": np.float32(0.5), "t": datetime.datetime(2024, 1, 2), "b": b"ab"}

    def __repr__(self):
        return "numbers"


Numbers()
# %%
class Long:
    def __repr__(self):
        return "x" * 20_000

    def _repr_html_(self):
        return "<p>" + "y" * 200_000


Long()
# %%
class Vega:
    def _repr_mimebundle_(self, **kwargs):
        return {"application/vnd.vegalite.v5+json": {"mark": "bar"}, "text/plain": "<Vega>"}


Vega()
# %%
len
"""
)

NOTEBOOKS["numbers"] = _cells(
    r"""
from decimal import Decimal, getcontext
Decimal("1.10") / 3, Decimal("NaN"), Decimal(10) ** 30
# %%
from fractions import Fraction
Fraction(3, 9) + Fraction(1, 7), Fraction("0.125")
# %%
import numpy as np
np.arange(6).reshape(2, 3) / 7
# %%
np.float64(1.5), np.int8(3), np.bool_(True), np.str_("a"), np.datetime64("2024-01-01")
# %%
np.array([1e-10, 1, 1e10])
# %%
np.set_printoptions(precision=2, suppress=True)
np.array([1.23456, 1e-10])
# %%
np.arange(2000)
# %%
np.array([["a", "bc"]]), np.array([None, 1], dtype=object), np.array([])
# %%
np.zeros(3, dtype=[("x", "i4"), ("y", "f8")])
# %%
np.array([1 + 2j, 3])
# %%
np.random.default_rng(0).random(3)
# %%
1 / np.array([0, 1])
# %%
np.sqrt(-1.0)
# %%
np.array([1, 2]) + np.array([1, 2, 3])
# %%
np.int8(127) + np.int8(1)
# %%
np.float16(1) / 3, np.longdouble(1).dtype.kind
# %%
np.ma.array([1, 2], mask=[0, 1]), np.matrix([[1, 2]])
# %%
%precision 2
1 / 3, [2 / 3], np.array([1 / 3])
# %%
%precision %r
1 / 3
# %%
import statistics
statistics.mean([1, 2, 4]), statistics.stdev([1, 2, 4])
# %%
round(2.675, 2), 0.1 + 0.2, 7 // -2, -7 % 3, divmod(7, -2)
# %%
2**200, 1_000_000, 0xFF, 0b11, hex(255)
# %%
10**40
# %%
import pandas as pd
pd.Timestamp("2024-01-02", tz="Europe/Berlin"), pd.Timedelta("1D"), pd.NA, pd.NaT, pd.Period("2024-01")
# %%
pd.array([1, None], dtype="Int64")
# %%
pd.Interval(0, 1), pd.Index([1, 2]), pd.RangeIndex(3)
# %%
import scipy.sparse as sparse
sparse.eye_array(3).tocsr()
# %%
print(sparse.eye_array(2))
# %%
from scipy import optimize, stats
optimize.minimize_scalar(lambda x: (x - 2) ** 2).x.round(4)
# %%
stats.ttest_ind([1, 2, 3], [2, 3, 5])
# %%
stats.norm(0, 1)
# %%
print(f"{1234567.891:,.2f} {0.5:.1%} {3:>5}|{'a':^5}|{1e6:g}")
# %%
import math
math.factorial(20), math.pi, math.isclose(0.1 + 0.2, 0.3), math.inf
# %%
math.sqrt(-1)
# %%
np.linalg.inv(np.zeros((2, 2)))
"""
)
