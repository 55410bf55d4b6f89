"""Pulls a table and links out of HTML with several parsers."""

import io

import lxml.html
import pandas as pd
from bs4 import BeautifulSoup, Comment
from lxml import etree

HTML = """<html><head><title>Shop &amp; co</title></head><body><!-- note -->
<div class="item big" data-id="7"><h2>Tea</h2><p>Price: <span class=price>2.50</span> EUR</div>
<div class="item" data-id="8"><h2>Cake</h2><p>Price: <span class=price>14</span> EUR<br>fresh</div>
<table><tr><th>n</th><th>sq</th></tr><tr><td>2</td><td>4</td></tr><tr><td>3</td><td>9</td></tr></table>
<a href="/a?x=1&y=2">A</a> <a href="http://b.example">B</a></body>"""
for parser in ('html.parser', 'lxml', 'html5lib'):
    soup = BeautifulSoup(HTML, parser)
    items = [
        (d['data-id'], d.h2.get_text(), float(d.select_one('.price').text), d.get('class'))
        for d in soup.select('div.item')
    ]
    print(
        parser,
        soup.title.string,
        items,
        [a['href'] for a in soup.find_all('a')],
        soup.find(string=lambda s: isinstance(s, Comment)),
    )
print(
    soup.select('tr:nth-of-type(2) td')[1].text,
    soup.find('p').parent.name,
    soup.h2.find_next_sibling('p').get_text(' ', strip=True),
)
tree = lxml.html.fromstring(HTML)
tree.make_links_absolute('http://shop.example/')
print(
    tree.xpath('//span[@class="price"]/text()'),
    [link for *_, link, _ in tree.iterlinks()],
    tree.cssselect('div.big h2')[0].text,
)
print(pd.read_html(io.StringIO(HTML))[0])
new = BeautifulSoup('<p>one<b>two</b></p>', 'html.parser')
new.b.string.replace_with('zwei')
new.p.append(new.new_tag('i', id='x'))
print(new, new.prettify())
try:
    etree.fromstring('<a><b></a>')
except etree.XMLSyntaxError as error:
    print(type(error).__name__, error)
print(soup.find('nothing'), soup.select('nothing'))
