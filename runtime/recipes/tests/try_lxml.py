"""lxml: XML, HTML, XPath, XSLT, schemas, objectify, encodings, gzip, errors; and a compiled module below a directory."""

import gzip
import io
import pathlib

from lxml import etree, html, objectify
from lxml.html import diff

assert etree.LIBXML_VERSION >= (2, 14) and etree.LIBXSLT_VERSION >= (1, 1, 43)
root = etree.fromstring("<a xmlns:n='urn:n'><b n:k='1'>é</b><b>2</b><!-- c --></a>")
assert [b.text for b in root.iterfind("b")] == ["é", "2"]
assert root.xpath("string(//b[@n:k='1'])", namespaces={"n": "urn:n"}) == "é"
assert root.xpath("count(//b) * sum(//b[2])") == 4
assert etree.tostring(root, method="c14n").startswith(b'<a xmlns:n="urn:n"><b n:k="1">')
assert etree.fromstring("<a>ж</a>".encode("koi8-r").join([b"<?xml version='1.0' encoding='koi8-r'?>", b""])).text == "ж"

sheet = etree.XSLT(etree.XML("""
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:s="http://exslt.org/strings">
  <xsl:param name="by"/>
  <xsl:template match="/"><r><xsl:for-each select="s:tokenize(//t, ',')"><i><xsl:value-of select=". * $by"/></i></xsl:for-each></r></xsl:template>
</xsl:stylesheet>"""))
assert [i.text for i in sheet(etree.XML("<t>1,2,3</t>"), by="10").getroot()] == ["10", "20", "30"]

schema = etree.XMLSchema(etree.XML("""
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="n" type="xs:positiveInteger"/></xs:schema>"""))
assert schema.validate(etree.XML("<n>5</n>")) and not schema.validate(etree.XML("<n>-5</n>"))
relaxng = etree.RelaxNG(etree.XML("<element name='a' xmlns='http://relaxng.org/ns/structure/1.0'><zeroOrMore><element name='b'><text/></element></zeroOrMore></element>"))
assert relaxng.validate(etree.XML("<a><b/><b/></a>")) and not relaxng.validate(etree.XML("<a><c/></a>"))

page = html.fromstring("<p>One<br>two <a href='/x?a=1&amp;b=2'>three</a><p>four")
page.make_links_absolute("http://host/")
assert [link for _, _, link, _ in page.iterlinks()] == ["http://host/x?a=1&b=2"]
assert "<ins>two</ins>" in diff.htmldiff("<p>one</p>", "<p>two</p>")
tree = objectify.fromstring("<o><n>1</n><n>2.5</n><t>true</t></o>")
assert tree.n[0] + tree.n[1] == 3.5 and bool(tree.t) and objectify.dump(tree)

path = pathlib.Path("/tmp/lxml.xml.gz")
etree.ElementTree(root).write(str(path), compression=9)
assert gzip.decompress(path.read_bytes()).startswith(b"<a") and etree.parse(str(path), etree.XMLParser(decompress=True)).getroot()[1].text == "2"
assert sum(1 for _, e in etree.iterparse(io.BytesIO(b"<r>" + b"<e/>" * 1000 + b"</r>"), tag="e")) == 1000


class Upper:
    """Called by the parser for each piece."""

    def __init__(self):
        self.seen = []

    def start(self, tag, attributes):
        self.seen.append(tag.upper())

    def close(self):
        return self.seen


assert etree.fromstring("<a><b/></a>", etree.XMLParser(target=Upper())) == ["A", "B"]
extension = etree.Extension(type("M", (), {"twice": lambda self, context, x: x * 2})(), ("twice",), ns="urn:f")
assert root.xpath("f:twice(21)", namespaces={"f": "urn:f"}, extensions=extension) == 42
for wrong in ("<a><b></a>", "<a>&undefined;</a>", ""):
    try:
        etree.fromstring(wrong)
    except etree.XMLSyntaxError:
        continue
    raise AssertionError(wrong)
print("lxml: all of it works")
