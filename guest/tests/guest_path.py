"""Lets Python find the guest's packages, as the sandbox does. To be imported before any of them."""

import os
import sys

GUEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Their content is side by side in the sandbox.
ROOTS = [os.path.join(GUEST, name) for name in ("driver", "plotly", "shell", "stand_ins")]

sys.path[:0] = [root for root in ROOTS if root not in sys.path]
