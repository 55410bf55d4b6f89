"""Ticks of dates: at years, months, days and times of the day. Positions are milliseconds since 1970."""

import datetime
import math

import numpy

from brumate_plotly.figure import formats
from brumate_plotly.figure.columns import DAY, instant, moment
from brumate_plotly.figure.reading import as_number, get, nodes, word
from brumate_plotly.figure.steps import MAX_TICKS, count, multiples, nice

_HOUR = 3_600_000.0
_MONTH = DAY * 30.4375
_YEAR = DAY * 365.25
# Steps of ticks below a month, in milliseconds.
_STEPS = [step * unit for unit in (1.0, 10.0, 100.0) for step in (1, 2, 5)]
_STEPS += [step * unit for unit in (1000.0, 60_000.0) for step in (1, 2, 5, 10, 15, 30)]
_STEPS += [step * _HOUR for step in (1, 2, 3, 6, 12)] + [step * DAY for step in (1, 2, 3, 7, 14)]
# The first Sunday of 1970, the beginning of a week. 1970 began on a Thursday.
_SUNDAY = 3 * DAY


def ticks(axis):
    """Returns the ticks of an axis of dates."""
    low, high = axis.bounds()
    wanted = get(axis.node, "dtick")
    if isinstance(wanted, str) and wanted[:1] == "M" and as_number(wanted[1:]):
        step, months = 0.0, max(1, round(as_number(wanted[1:])))
    elif as_number(wanted):
        step, months = max(1e-3, as_number(wanted)), 0
    else:
        step, months = _step((high - low) / count(axis))
    found = _by_months(low, high, months) if months else _by_time(axis, low, high, step)
    return _labelled(axis, found, step, months)


def _step(rough):
    """Returns the step between ticks as `(milliseconds, months)`. One of the two numbers is 0."""
    for step in _STEPS:
        if step >= rough * 0.999:
            return step, 0
    for months in (1, 2, 3, 6):
        if months * _MONTH >= rough:
            return 0.0, months
    return 0.0, 12 * max(1, round(nice(rough / _YEAR)))


def _by_months(low, high, months):
    first = moment(low)
    number = math.floor((first.year * 12 + first.month - 1) / months) * months
    found = []
    while len(found) < MAX_TICKS:
        year, month = divmod(number, 12)
        if not 1 <= year <= 9999:
            break
        at = instant(datetime.date(year, month + 1, 1))
        if at > high:
            break
        if at >= low:
            found.append(at)
        number += months
    return found


def _by_time(axis, low, high, step):
    start = instant(get(axis.node, "tick0")) if get(axis.node, "tick0") is not None else math.nan
    if math.isnan(start):
        start = _SUNDAY if step >= 7 * DAY else 0.0
    return multiples(low, high, step, start).tolist()


def _labelled(axis, found, step, months):
    spec = word(axis.node, "tickformat") or _stop(axis, step, months)
    if not spec and months:
        spec = "%Y" if months % 12 == 0 else "%b %Y"
    if spec and spec.count("\n") != 1:
        return [(at, formats.date(at, spec)) for at in found]
    brief, long = spec.split("\n") if spec else _forms(step)
    result, before = [], None
    for at in found:
        label, second = formats.date(at, brief), formats.date(at, long)
        result.append((at, f"{label}<br>{second}" if second != before else label))
        before = second
    return result


def _forms(step):
    """Returns two formats: for the label, and for its second line. A label has the second line only if the line differs
    from the second line of the tick before."""
    if step >= DAY:
        return "%b %-d", "%Y"
    day = "%b %-d, %Y"
    if step >= 60_000:
        return "%H:%M", day
    return ("%H:%M:%S", day) if step >= 1000 else ("%S.%3f", "%b %-d, %Y, %H:%M")


def _stop(axis, step, months):
    """Returns the format for a step from `tickformatstops`; `""` if there is none."""
    step = months * _MONTH if months else step
    for stop in nodes(axis.node, "tickformatstops"):
        bounds = get(stop, "dtickrange")
        if isinstance(bounds, list) and len(bounds) == 2:
            low, high = (_length(bound) for bound in bounds)
            if (low is None or step >= low * 0.98) and (high is None or step <= high * 1.02):
                return word(stop, "value")
    return ""


def _length(bound):
    if isinstance(bound, str) and bound[:1] == "M":
        months = as_number(bound[1:])
        return None if months is None else months * _MONTH
    return as_number(bound)


def label(axis, at):
    """Returns the label for one date."""
    spec = word(axis.node, "tickformat")
    if spec:
        return formats.date(at, spec)
    if at % DAY == 0:
        return formats.date(at, "%b %-d, %Y")
    return formats.date(at, "%b %-d, %Y %H:%M")


def floor(milliseconds, months):
    """Returns, as an array, the beginning of the span of `months` months that contains each date."""
    starts = []
    for value in milliseconds:
        when = moment(value)
        year, month = divmod(math.floor((when.year * 12 + when.month - 1) / months) * months, 12)
        starts.append(instant(datetime.date(min(9999, max(1, year)), month + 1, 1)))
    return numpy.array(starts, dtype=float)
