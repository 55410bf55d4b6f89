"""Fills letters with str.format, string.Template and jinja2."""

import string
from datetime import date

from jinja2 import DictLoader, Environment, StrictUndefined, UndefinedError

ORDER = {'name': 'Ann', 'items': [('tea', 3, 2.5), ('cake <big>', 1, 14)], 'due': date(2025, 3, 1)}
print(
    '{name!r:>8}|{due:%d %B %Y}|{items[0][0]:^7}|{0:,.2f}|{0:e}|{1:08.3f}|{2:#x}'.format(
        1234567.891, -3.14159, 255, **ORDER
    )
)
print(string.Template('Dear $name, pay $$${total} by ${due}').safe_substitute(name='Bob', total=5))
env = Environment(
    loader=DictLoader(
        {
            'base.txt': 'Hello {{ name|upper }}!\n{% block body %}{% endblock %}',
            'order.txt': """{% extends "base.txt" %}{% block body %}
{%- for item, count, price in items if price %}
{{ loop.index }}. {{ "%-10s"|format(item) }} {{ count }} x {{ "%.2f"|format(price) }} = {{ (count * price)|round(2) }}
{%- else %}nothing{% endfor %}
Total: {{ items|map("last")|sum }} {{ items|length is divisibleby 2 }} {{ due.isoformat() }}
{{ items|sort(attribute=2, reverse=true)|first|join("/") }} {{ "a b c"|title|replace(" ", "_") }}{% endblock %}""",
        }
    ),
    undefined=StrictUndefined,
    trim_blocks=True,
)
print(env.get_template('order.txt').render(ORDER))
print(Environment(autoescape=True).from_string('{{ x }} {{ x|safe }}').render(x='<b>&'))
try:
    env.from_string('{{ nothing.here }}').render()
except UndefinedError as error:
    print(type(error).__name__, error)
try:
    env.from_string('{% for x in %}')
except Exception as error:
    print(type(error).__name__, error, error.lineno)
