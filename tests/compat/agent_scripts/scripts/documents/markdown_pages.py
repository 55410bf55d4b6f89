"""Markdown to HTML and back."""

import markdown
from markdown_it import MarkdownIt
from markdownify import markdownify

TEXT = """# Title *with* `code`

1. one
2. two
   - nested

| a | b |
|---|--:|
| 1 | 2 |

> quote & <b>html</b>

```python
print("hi")
```

[link](http://example.com "t") ![img](a.png) ~~gone~~ line
break
"""
print(markdown.markdown(TEXT, extensions=['tables', 'fenced_code', 'toc']))
html = MarkdownIt('commonmark').enable(['table', 'strikethrough']).render(TEXT)
print(html)
print([token.type for token in MarkdownIt().parse('# x\n\ny')])
print(markdownify(html, heading_style='ATX'))
print(markdownify('<ul><li>a<ul><li>b</li></ul></li></ul><pre>x  y</pre><a href="u">t</a>', strip=['a']))
