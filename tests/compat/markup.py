"""Templates and YAML: jinja2, markupsafe and PyYAML with their C parts, and what pandas makes with them."""

import datetime
import io

import jinja2
import markupsafe
import pandas as pd
import yaml

from checks import equal, raises

DOCUMENT = """
base: &base {retries: 3, verbose: no}
job:
  <<: *base
  when: 2026-01-31
  steps: [load, "clean up", 0x1F, 1.5e+3, ~]
  text: |
    two
    lines
"""


def test_markupsafe_escapes_in_c():
    equal(markupsafe._escape_inner.__module__, "markupsafe._speedups")
    equal(markupsafe.escape("<a href='x'>&\"ü"), "&lt;a href=&#39;x&#39;&gt;&amp;&#34;ü")
    equal(markupsafe.Markup("<b>%s</b>") % "<", "<b>&lt;</b>")
    equal(markupsafe.Markup("&lt;b&gt; <i>x</i>").striptags(), "<b> x")


def test_templates():
    loader = jinja2.DictLoader(
        {
            "base": "<ul>{% block items %}{% endblock %}</ul>",
            "page": "{% extends 'base' %}{% block items %}{% for n in names if n %}<li>{{ loop.index }} {{ n }}</li>{% endfor %}{% endblock %}",
        }
    )
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    equal(environment.get_template("page").render(names=["a", "", "<b>"]), "<ul><li>1 a</li><li>2 &lt;b&gt;</li></ul>")
    with raises(jinja2.UndefinedError, "'nothing' is undefined"):
        environment.from_string("{{ nothing }}").render()
    with raises(jinja2.TemplateSyntaxError, "Expected an expression"):
        environment.from_string("{% if %}")


def test_a_sandboxed_template_reaches_no_attributes():
    from jinja2.sandbox import SandboxedEnvironment

    template = SandboxedEnvironment().from_string("{{ ().__class__.__mro__ }}")
    with raises(jinja2.exceptions.SecurityError, "access to attribute '__class__'"):
        template.render()


def test_an_asynchronous_template():
    import asyncio

    async def names():
        for name in ("a", "b"):
            yield name

    template = jinja2.Environment(enable_async=True).from_string("{% for n in names() %}[{{ n }}]{% endfor %}")
    equal(asyncio.run(template.render_async(names=names)), "[a][b]")


def test_yaml_with_libyaml():
    assert yaml.__with_libyaml__
    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        job = yaml.load(DOCUMENT, Loader=loader)["job"]
        equal((job["retries"], job["verbose"], job["when"]), (3, False, datetime.date(2026, 1, 31)))
        equal(job["steps"], ["load", "clean up", 31, 1500.0, None])
        equal(job["text"], "two\nlines\n")


def test_yaml_back_and_forth():
    value = {"name": "Zürich", "list": [1, [2.5, None]], "flag": True, "when": datetime.datetime(2026, 1, 2, 3, 4, 5)}
    for dumper, loader in ((yaml.SafeDumper, yaml.CSafeLoader), (yaml.CSafeDumper, yaml.SafeLoader)):
        text = yaml.dump(value, Dumper=dumper, allow_unicode=True, sort_keys=False)
        assert text.startswith("name: Zürich\n"), text
        equal(yaml.load(text, Loader=loader), value)
    equal(list(yaml.safe_load_all(io.StringIO("--- 1\n--- [2]\n"))), [1, [2]])


def test_yaml_makes_no_objects_and_says_where_it_fails():
    with raises(yaml.constructor.ConstructorError, "could not determine a constructor"):
        yaml.safe_load("!!python/object/apply:os.getcwd []")
    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        with raises(yaml.YAMLError, "line 3, column 1"):
            yaml.load("a: [1,\n2,\n}", Loader=loader)


def test_a_styled_table():
    table = pd.DataFrame({"name": ["<a>", "b"], "share": [0.25, 0.5]})
    html = table.style.format({"share": "{:.0%}"}, escape="html").highlight_max(subset="share", color="gold").to_html()
    assert "background-color: gold" in html and ">50%</td>" in html and ">&lt;a&gt;</td>" in html, html
    equal(html.count("<tr>"), 3)
    assert table.style.hide(axis="index").to_latex().startswith("\\begin{tabular}{lr}"), table.style.to_latex()
