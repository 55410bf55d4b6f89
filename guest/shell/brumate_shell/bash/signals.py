"""What leaves a loop, a function or the script."""

# The status of a command that took too long.
TIMED_OUT = 124


class Leave(Exception):
    """Leaves a loop, a function or the script."""

    def __init__(self, count=1, status=0):
        super().__init__()
        self.count = count
        self.status = status


class Break(Leave):
    pass


class Continue(Leave):
    pass


class Return(Leave):
    pass


class Exit(Leave):
    pass


class TimedOut(Leave):
    """The time of `timeout` is over."""
