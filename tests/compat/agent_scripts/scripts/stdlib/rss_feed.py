import html
import xml.dom.minidom
import xml.etree.ElementTree as ET
import xml.sax
from html.parser import HTMLParser
from xml.sax.saxutils import escape, quoteattr

rss = ET.Element('rss', version='2.0', attrib={'xmlns:dc': 'http://purl.org/dc/elements/1.1/'})
channel = ET.SubElement(rss, 'channel')
for title, link in (('Fish & chips', 'https://example.com/?a=1&b=2'), ('Ünïcode <b>', 'https://example.com/ü')):
    item = ET.SubElement(channel, 'item')
    ET.SubElement(item, 'title').text = title
    ET.SubElement(item, 'link').text = link
    item.append(ET.Comment(' generated '))
ET.indent(rss)
tree = ET.ElementTree(rss)
tree.write('feed.xml', encoding='utf-8', xml_declaration=True)
print(open('feed.xml', encoding='utf-8').read())
root = ET.parse('feed.xml').getroot()
print([e.text for e in root.findall('./channel/item/title')], root.find(".//item[title='Fish & chips']/link").text)
print(ET.tostring(root, encoding='unicode', short_empty_elements=False)[:60], ET.canonicalize('<a  y="1" x="2"/>'))
for event, element in ET.iterparse('feed.xml', events=('start', 'end')):
    if element.tag == 'link':
        print(event, element.text)
print(xml.dom.minidom.parseString('<a><b c="1">t</b></a>').toprettyxml(indent='  '))
print(escape('a < b & c'), quoteattr('say "hi"'), html.escape('"\'<>'), html.unescape('&eacute;&#128512;&notit;'))


class Links(HTMLParser):
    found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [v for k, v in attrs if k == 'href']


Links().feed('<p><A HREF="/one">1</a><a href=two class=x>2<br/></p>')
print(Links.found)
for bad in ('<a><b></a>', '<a', '&bogus;', '<a x=1/>'):
    try:
        ET.fromstring(bad)
    except ET.ParseError as e:
        print(e, e.position, e.code)
xml.sax.parseString('<a><b/>', xml.sax.ContentHandler())
