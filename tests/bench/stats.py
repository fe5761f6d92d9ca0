# SPDX-License-Identifier: Apache-2.0
"""Order statistics of measurements. Nothing here assumes a distribution."""
import math


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def interval(values):
    """(low, high) around the median: 95 % by the ranks of a sign test; with few values, all."""
    ordered = sorted(values)
    reach = 0.98 * math.sqrt(len(ordered))
    low = max(0, math.floor(len(ordered) / 2 - reach))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + reach))
    return ordered[low], ordered[high]
