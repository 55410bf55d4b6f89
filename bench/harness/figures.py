"""Statistics of timings. Seconds in, seconds out."""

import math
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """Median and spread of a sample."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, sample):
        """`low` and `high` are the quartiles; of fewer than four values, the extremes."""
        ordered = sorted(sample)
        if len(ordered) < 4:
            return cls(statistics.median(ordered), ordered[0], ordered[-1], len(ordered))
        low, median, high = statistics.quantiles(ordered, n=4, method="inclusive")
        return cls(median, low, high, len(ordered))

    def milliseconds(self):
        """`12.3 (11.9-12.8)`."""
        return "{} ({}-{})".format(*(decimal(1000 * value) for value in (self.median, self.low, self.high)))


def decimal(value):
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def paired_ratio(numerators, denominators):
    """Median of the ratios of values measured in the same round, so that a drift of the machine's load cancels."""
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))


def geometric_mean(ratios):
    """The mean that does not depend on which side is the denominator."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def percentile(sample, share):
    """The smallest value that is not exceeded by `share` of the sample (nearest rank)."""
    ordered = sorted(sample)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
