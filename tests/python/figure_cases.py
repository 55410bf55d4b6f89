"""Figures of a session: their files, the pictures that the model sees, and that each is captured once.

As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import base64
import struct

from cases import contains, same
from harness import Setup
from interpreter import NATIVE, Host, Interpreter

PLOT = """
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 10, 100)
plt.plot(x, np.sin(x))
plt.title('Sine Wave')
plt.savefig('sine_wave.png')
plt.show()
"""


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height."""
    return struct.unpack('>II', png[16:24])


async def figures(setup: Setup) -> None:
    """A figure that is saved and shown gives one file and one picture for the model; other formats are made on request."""
    with Host(setup) as host:
        async with host.server() as client:
            result = await client.call_raw('execute_code', {'code': PLOT})
            answer = result['structuredContent']
            assert answer['success'], answer
            same([file['name'] for file in answer['files']], ['sine_wave.png'])
            for file in answer['files']:
                line = f'📊 File created: {file["name"]} (image/png, {file["size"]} bytes)'
                assert line in answer['output'], answer
                contents = await Interpreter(client).read(file['uri'])
                png = base64.b64decode(contents['blob'])
                same((contents['mimeType'], len(png), png[:4]), ('image/png', file['size'], b'\x89PNG'))
            same([block['type'] for block in result['content']], ['text', 'image', 'resource_link'])
            picture = base64.b64decode(result['content'][1]['data'])
            assert 0 < max(png_size(picture)) <= 1568, png_size(picture)
            session = answer['session_info']['session_id']
            left_open = await Interpreter(client).cell('plt.plot([1, 2])\nNone', session)
            same([file['name'] for file in left_open['files']], ['figure_1.png'])
            config = "%config InlineBackend.figure_formats = ['svg', 'pdf']\n"
            both = await Interpreter(client).cell(config + 'plt.plot([1, 2])\nNone', session)
            same(
                [file['name'] for file in both['files']],
                ['figure_2.pdf', *([] if NATIVE else ['figure_2.png']), 'figure_2.svg'],
            )
            svg = await Interpreter(client).read(both['files'][-1]['uri'])
            contains(base64.b64decode(svg['blob']).decode(), '<svg ')


async def figures_once(setup: Setup) -> None:
    """A figure is captured once per cell and change, however often and by whatever it is shown."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            begin = 'import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\n'
            session = await interpreter.open()

            async def pictures(code: str) -> int:
                answer = await interpreter.cell(code, session)
                assert answer['success'], answer
                return sum(
                    file['name'].startswith('figure_') and file['name'].endswith('.png') for file in answer['files']
                )

            for code, count in [
                (begin + 'plt.show()\nfig', 1),
                (begin + 'display(fig)\ndisplay(fig)', 1),
                (begin + "plt.savefig('a.png')\nplt.show()", 0),
                (begin + 'plt.close()', 0),
                ('plt.subplots(2, 2)', 1),
                (begin + 'None', 1),
                ("fig.savefig('a.png')\nax.get_title()", 0),
                ("ax.set_title('changed')\nNone", 1),
                ('None', 0),
                (
                    "import seaborn as sns, pandas as pd\nsns.relplot(pd.DataFrame({'a': [1, 2], 'b': [2, 1]}), x='a', y='b')",
                    1,
                ),
                ('import plotly.graph_objects as go\nbars = go.Figure(go.Bar(y=[1, 2]))\nbars.show()\nbars', 1),
                ('bars', 1),
                ('None', 0),
            ]:
                # The host's libraries close a figure that they have shown, and draw no picture of plotly's.
                if not NATIVE or ('bars' not in code and 'changed' not in code):
                    same((code, await pictures(code)), (code, count))
            if NATIVE:
                return
            (page,) = [
                file for file in (await interpreter.cell('bars', session))['files'] if file['name'].endswith('.html')
            ]
            assert page['size'] < 2_500_000, page
            contains((await interpreter.read(page['uri']))['text'], 'DecompressionStream')


async def large_figure(setup: Setup) -> None:
    """The picture for the model is made smaller; the file keeps the size that the figure was drawn with."""
    with Host(setup) as host:
        async with host.server() as client:
            code = (
                "import matplotlib.pyplot as plt\nplt.figure(figsize=(40, 10), dpi=100)\nplt.plot([1, 2])\nplt.show()"
            )
            result = await client.call_raw('execute_code', {'code': code})
            answer = result['structuredContent']
            same([file['name'] for file in answer['files']], ['figure_1.png'])
            (shown,) = [base64.b64decode(block['data']) for block in result['content'] if block['type'] == 'image']
            same(png_size(shown)[0], 1568)
            file = base64.b64decode((await Interpreter(client).read(answer['files'][0]['uri']))['blob'])
            assert png_size(file)[0] > 3000, png_size(file)
            same(len(file), answer['files'][0]['size'])
