"""Runs a server as the sandbox does, with descriptors 0 and 1 as the wire: runner.py GUEST FILE [TRANSPORT]."""

import os
import signal
import sys

guest, file, *transport = sys.argv[1:]
sys.path[:1] = [os.path.join(guest, name) for name in ("driver", "plotly", "shell")]

from _brumate.serving import limits, loading  # noqa: E402
from _brumate.serving.wire import Wire  # noqa: E402

source, sink = os.dup(0), os.dup(1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
signal.signal(signal.SIGUSR1, limits.limit_reached)
loading.run(file, Wire(source, sink), None, *transport, arguments=[])
