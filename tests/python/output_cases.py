"""What cells show, as the code interpreter's contract has it: results, displays, figures, and how much of them is told."""

from __future__ import annotations

import base64
import json
import re

from cases import contains, same
from harness import Setup
from interpreter import NATIVE, Host, Interpreter


async def history(setup: Setup) -> None:
    """`_`, `__`, `Out`, `In` and their kind are what they are in a notebook."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('10')
            await interpreter.value(session, "'second'")
            same(await interpreter.value(session, '_, __'), "('second', 10)")
            same(await interpreter.value(session, 'Out[1] + _1'), '20')
            same(await interpreter.value(session, 'In[2], _i2'), '("\'second\'", "\'second\'")')
            same(await interpreter.value(session, 'sorted(Out)'), '[1, 2, 3, 4, 5]')


async def displays(setup: Setup) -> None:
    """What `display` shows is output, the last value the result; tables as text."""
    table = '   a  b\n0  1  x\n1  2  y'
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")
            same(await interpreter.value(session, 'df'), table)
            shown = await interpreter.cell("display(df, 1)\nprint('then')\ndf.a", session)
            same(shown['output'], [table + '\n', '1\n', 'then\n'])
            same(shown['result'], '0    1\n1    2\nName: a, dtype: int64')
            rich = "class R:\n    def _repr_html_(self): return '<b>r</b>'\n    def __repr__(self): return 'R as text'\nR()"
            same(await interpreter.value(session, rich), 'R as text')
            wide = 'pd.DataFrame({n: range(100) for n in range(40)})'
            contains(await interpreter.value(session, wide), '...', '[100 rows x 40 columns]')


async def ready(setup: Setup) -> None:
    """The documented libraries can be imported in a new session, without a word of installing."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            answer = await interpreter.cell(
                'import pandas, numpy, matplotlib.pyplot, seaborn, plotly.express, plotly.graph_objects, sympy, openpyxl\n'
                "x = sympy.symbols('x')\n"
                'int(pandas.Series(numpy.arange(4)).sum()), sympy.integrate(x ** 2, x)'
            )
            same((answer['result'], answer['output'], answer['files']), ('(6, x**3/3)', [], []))


async def figures_of_each_library(setup: Setup) -> None:
    """Shown or left open, a figure of any library is a file, once, and a picture where the library draws one."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open(
                'import matplotlib.pyplot as plt, seaborn as sns, plotly.express as px, plotly.graph_objects as go'
            )
            drawn = ['png']
            page = ['html', 'json', *([] if NATIVE else ['png'])]
            number = 0
            for code, endings in [
                ('plt.plot([1, 2])\nplt.show()', drawn),
                ('plt.plot([1, 2])\nNone', drawn),
                ('figure, axes = plt.subplots()\naxes.bar([1, 2], [3, 4])\nNone', drawn),
                ('sns.lineplot(x=[1, 2], y=[3, 4])\nNone', drawn),
                ("sns.histplot([1, 2, 2, 3])\nplt.show()", drawn),
                ("import pandas as pd\npd.Series([1, 3]).plot()\nNone", drawn),
                ('px.line(x=[1, 2], y=[3, 4]).show()', page),
                ('go.Figure(go.Scatter(x=[1], y=[2]))', page),
            ]:
                number += 1
                result = await client.call_raw('execute_code', {'code': code, 'session_id': session})
                answer = result['structuredContent']
                same(answer['error'], None)
                names = [f'figure_{number}.{ending}' for ending in endings]
                same([file['name'] for file in answer['files']], names)
                same([line.split(' (')[0] for line in answer['output']], [f'📊 File created: {name}' for name in names])
                pictures = [block for block in result['content'] if block['type'] == 'image']
                same([picture['mimeType'] for picture in pictures], ['image/png'] if 'png' in endings else [])
                first = await interpreter.read(answer['files'][0]['uri'])
                if endings is drawn:
                    same((first['mimeType'], first['blob'][:8]), ('image/png', 'iVBORw0K'))
                else:
                    same(first['mimeType'], 'text/html')
                    contains(first['text'].lower(), '<html', 'plotly')
                same((await interpreter.cell('1', session))['files'], [])
            two = await interpreter.cell('plt.plot([1])\nplt.figure()\nplt.plot([2])\nNone', session)
            same(
                {file['name'] for file in two['files']},
                {f'figure_{number}.{ending}' for number in (9, 10) for ending in drawn},
            )
            closed = await interpreter.cell('plt.plot([1])\nplt.close()', session)
            same(closed['files'], [])


async def saved_figures(setup: Setup) -> None:
    """`savefig` lists its file under the name it was given, in whatever form."""
    forms = {'a.png': 'image/png', 'a.svg': 'image/svg+xml', 'a.pdf': 'application/pdf', 'a.jpg': 'image/jpeg'}
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('import matplotlib.pyplot as plt, plotly.express as px')
            for name, mime in forms.items():
                result = await client.call_raw(
                    'execute_code',
                    {'code': f"plt.plot([1, 2])\nplt.savefig({name!r})\nplt.close()", 'session_id': session},
                )
                (file,) = result['structuredContent']['files']
                same((file['name'], file['mime_type']), (name, mime))
                read = await interpreter.read(file['uri'])
                same((read['mimeType'], len(base64.b64decode(read['blob']))), (mime, file['size']))
                same(
                    len([block for block in result['content'] if block['type'] == 'image']),
                    int(name in ('a.png', 'a.jpg')),
                )
            page = await interpreter.cell("px.line(x=[1, 2], y=[3, 4]).write_html('p.html')", session)
            same([(file['name'], file['mime_type']) for file in page['files']], [('p.html', 'text/html')])
            if NATIVE:
                return
            drawn = await interpreter.cell("px.line(x=[1, 2], y=[3, 4]).write_image('p.png')", session)
            same([(file['name'], file['mime_type']) for file in drawn['files']], [('p.png', 'image/png')])


async def content_blocks(setup: Setup) -> None:
    """Pictures for the model, made smaller when they are large; a link for each file; no base64 in the structure."""
    with Host(setup) as host:
        async with host.server() as client:
            code = (
                'import matplotlib.pyplot as plt\nimport numpy as np\n'
                "plt.imsave('large.png', np.random.default_rng(1).random((1000, 3000, 3)))\n"
                "open('t.csv', 'w').write('a')\nopen('u.json', 'w').write('{}')"
            )
            result = await client.call_raw('execute_code', {'code': code})
            files = result['structuredContent']['files']
            same(
                [block['type'] for block in result['content']],
                ['text', 'image', 'resource_link', 'resource_link', 'resource_link'],
            )
            picture = base64.b64decode(result['content'][1]['data'])
            assert len(picture) <= 1 << 20, len(picture)
            width, height = int.from_bytes(picture[16:20], 'big'), int.from_bytes(picture[20:24], 'big')
            assert 0 < max(width, height) <= 1568, (width, height)
            links = [
                {key: block[key] for key in ('uri', 'mimeType', 'name', 'size')} for block in result['content'][2:]
            ]
            same(
                links,
                [
                    {'uri': file['uri'], 'mimeType': file['mime_type'], 'name': file['name'], 'size': file['size']}
                    for file in files
                ],
            )
            large = next(file for file in files if file['name'] == 'large.png')
            assert large['size'] > 1 << 20, large
            for text in (json.dumps(result['structuredContent']), result['content'][0]['text']):
                assert not re.search('[A-Za-z0-9+/]{200}', text), 'base64 in the structure'
                assert len(text) < 4096, len(text)


async def bounded_text(setup: Setup) -> None:
    """Long output, results and messages lose their middle; what is cut is said, and where all of it is."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            for code, whole in [
                ("print('o' * 100_000)", 'o' * 100_000 + '\n'),
                ("'r' * 100_000", "'" + 'r' * 100_000 + "'"),
                ("print('o' * 50_000)\n'r' * 50_000", 'o' * 50_000 + "\n'" + 'r' * 50_000 + "'"),
            ]:
                answer = await interpreter.cell(code, session)
                assert len(json.dumps(answer)) < 40_000, len(json.dumps(answer))
                texts = [*answer['output'], answer['result'] or '']
                cut = [
                    match
                    for text in texts
                    for match in re.findall(r'\[(\S+ KiB) were cut here; all of it: (\S+)\]', text)
                ]
                assert cut, answer
                same((await interpreter.read(cut[0][1]))['text'], whole)
            loud = await interpreter.cell("raise ValueError('m' * 100_000)", session)
            assert len(json.dumps(loud)) < 40_000, len(json.dumps(loud))
            contains(loud['error'], 'ValueError: mmm', 'were cut here')
        async with host.server('--output-limit', '4KiB') as client:
            interpreter = Interpreter(client)
            flood = await interpreter.cell("print('x' * 100_000)")
            contains(''.join(flood['output']), 'only the first 4 KiB of output are kept (set by --output-limit')


async def readable_displays(setup: Setup) -> None:
    """What has no text of its own is shown by its source or kept as a page, and a picture comes once."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('from IPython.display import HTML, Latex, Markdown, display')
            texts = await interpreter.cell(
                "display(Markdown('# a title'), Latex('$x^2$'))\nMarkdown('*last*')", session
            )
            same((texts['output'], texts['result'], texts['files']), (['# a title\n', '$x^2$\n'], '*last*', []))
            same(await interpreter.value(session, 'import sympy\nsympy.symbols("x") ** 2'), 'x**2')
            page = await interpreter.cell("display(HTML('<h1>a page</h1>'))", session)
            same([(file['name'], file['mime_type']) for file in page['files']], [('figure_1.html', 'text/html')])
            contains((await interpreter.read(page['files'][0]['uri']))['text'], '<h1>a page</h1>')
            styled = await interpreter.cell("import pandas as pd\npd.DataFrame({'a': [1]}).style", session)
            same([file['name'] for file in styled['files']], ['figure_2.html'])
            code = "from PIL import Image\ndisplay(Image.new('RGB', (5, 5)))"
            result = await client.call_raw('execute_code', {'code': code, 'session_id': session})
            same([file['name'] for file in result['structuredContent']['files']], ['figure_3.png'])
            same([block['mimeType'] for block in result['content'] if block['type'] == 'image'], ['image/png'])
            hidden = await interpreter.tool('upload_file', filename='.hidden', content='abc', session_id=session)
            same((hidden['file']['size'], hidden['file']['mime_type']), (3, 'text/plain'))


async def several_values(setup: Setup) -> None:
    """No value of a cell is lost without a word, and an interrupt says where it came and leaves time to tidy up."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open("%config InteractiveShell.ast_node_interactivity = 'all'")
            every = await interpreter.cell("1\n'two'\n3", session)
            same((every['output'], every['result']), (['1\n', "'two'\n"], '3'))
            many = await interpreter.cell("for i in range(10_050): display(i)\n'end'", session)
            assert many['output'][-1].partition('9999\n')[2].startswith('[50 more displays were left out'), many[
                'output'
            ][-1][-200:]
            same(many['result'], "'end'")
        async with host.server('--timeout', '5s', '--grace', '20s') as client:
            interpreter = Interpreter(client)
            if NATIVE:
                session = await interpreter.open()
            code = 'import asyncio\nasync def wait(): await asyncio.sleep(100)\nawait wait()'
            waited = await interpreter.cell(code, session)
            contains('\n'.join(waited['traceback']), 'in wait()', 'await wait()')
            code = (
                'import time\ndone = 0\ntry: time.sleep(100)\nfinally:\n    while done < 15: time.sleep(.1); done += 1'
            )
            contains((await interpreter.cell(code, session))['error'], 'time limit of 5 s')
            same(await interpreter.value(session, 'done'), '15')


async def programs_and_tasks(setup: Setup) -> None:
    """A program is run as by an interpreter of its own, and tasks wait for a cell that awaits."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open(
                "open('m.py', 'w').write('V = 1')\nopen('s.py', 'w').write('import m; print(m.V)')"
            )
            same((await interpreter.cell('!python s.py', session))['output'], ['1\n'])
            await interpreter.cell("open('m.py', 'w').write('V = 222')", session)
            same((await interpreter.cell('!python s.py', session))['output'], ['222\n'])
            same(await interpreter.value(session, "import m, sys\nm.V = 3\n!python s.py\nsys.modules['m'].V"), '3')
            await interpreter.cell(
                'import asyncio\nasync def job(): return 7\ntask = asyncio.create_task(job())', session
            )
            same(await interpreter.value(session, 'task.done()'), 'True' if NATIVE else 'False')
            same(await interpreter.value(session, 'await task'), '7')
            if NATIVE:
                return
            same(await interpreter.value(session, 'asyncio.run(job())'), '7')
            large = await interpreter.cell('len(range(2**40))', session)
            contains(large['error'], '2,147,483,647')
