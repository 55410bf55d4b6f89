"""Makes `golden.json`: the session under a native Jupyter kernel. `golden.py` needs ipykernel and what the cells import, in the
versions of `runtime/wheels`:

    pip install ipykernel jupyter_client nbformat numpy==2.4.6 pandas==3.0.2 matplotlib==3.10.8 seaborn==0.13.2 plotly==7.1.0 \\
        sympy==1.14.0 openpyxl==3.1.5
    python tests/python/analyst/golden.py

A copy of a session is a second kernel to which the same was told.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from analyst.session import BETWEEN, CELLS, FORK, IN_THE_COPY, REGIONS, outcome, sales  # noqa: E402

PICTURES = ('image/png', 'application/vnd.plotly.v1+json')


class Kernel:
    """A kernel in a directory of its own."""

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        Path(self.directory.name, 'sales.csv').write_text(sales())
        Path(self.directory.name, 'regions.csv').write_text(REGIONS)
        self.manager = KernelManager(kernel_name='python3')
        self.manager.start_kernel(cwd=self.directory.name, env={**os.environ, 'PYTHONWARNINGS': 'ignore'})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    def cell(self, code: str) -> dict[str, Any]:
        output, results, errors, pictures = [], [], [], 0

        def listen(message: dict[str, Any]) -> None:
            nonlocal pictures
            content = message['content']
            match message['msg_type']:
                case 'stream' if content['name'] == 'stdout':
                    output.append(content['text'])
                case 'execute_result':
                    results.append(content['data']['text/plain'])
                case 'display_data' if any(mime in content['data'] for mime in PICTURES):
                    pictures += 1
                case 'display_data':
                    output.append(content['data']['text/plain'] + '\n')
                case 'error':
                    message = content['evalue']
                    errors.append(f'{content["ename"]}: {message}' if message else content['ename'])

        self.client.execute_interactive(code, output_hook=listen, timeout=300)
        return outcome(''.join(output), results[0] if results else None, errors[0] if errors else None, pictures)

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.directory.cleanup()


def main() -> None:
    first, copy = Kernel(), None
    golden = []
    for number, code in enumerate(CELLS, 1):
        if BETWEEN.get(number) == FORK:
            copy = Kernel()
            for told in CELLS[: number - 1]:
                copy.cell(told)
        golden.append((copy if number in IN_THE_COPY else first).cell(code))
    for kernel in (first, copy):
        kernel.end()
    (HERE / 'golden.json').write_text(json.dumps(golden, indent=1, ensure_ascii=False) + '\n')


if __name__ == '__main__':
    main()
