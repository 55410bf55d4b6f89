"""Escapes, parses and builds HTML and XML with the standard library."""

import html
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from xml.dom import minidom
from xml.sax.saxutils import quoteattr


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.depth, self.text = [], 0, []

    def handle_starttag(self, tag, attrs):
        self.depth += 1
        if tag == 'a':
            self.links.append(dict(attrs).get('href'))

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_data(self, data):
        self.text.append(data.strip())


parser = Links()
parser.feed('<p>x &lt; y <a href="/a?b=1&amp;c">A</a><br/><a>none</a></p><!-- c --><script>if (a < b) {}</script>')
print(parser.links, parser.depth, [t for t in parser.text if t], parser.getpos())
print(html.escape('<a href="x">\'&\'</a>'), html.unescape('&eacute;&#x20AC;&#8364;&notanentity;&amp;amp;'))
root = ET.Element('feed', {'xmlns:m': 'urn:m'})
for number in range(2):
    entry = ET.SubElement(root, 'entry', id=str(number))
    entry.text = f'<{number}> & "é"'
    ET.SubElement(entry, 'm:x').tail = 'tail'
ET.indent(root)
text = ET.tostring(root, encoding='unicode')
print(text, ET.tostring(root, encoding='us-ascii', xml_declaration=True)[:40])
tree = ET.fromstring(text)
print(
    [e.attrib for e in tree.iter('entry')], tree.find("entry[@id='1']").text.strip(), tree.findall('.//{urn:m}x')[0].tag
)
print(minidom.parseString('<a><b c="1"/></a>').toprettyxml(indent=' '), quoteattr('a"b\'c'))
for bad in ('<a>', '<a b=c/>', '<a>&nope;</a>', 'text'):
    try:
        ET.fromstring(bad)
    except ET.ParseError as error:
        print(error, error.position, error.code)
