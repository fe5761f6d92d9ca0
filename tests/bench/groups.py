# SPDX-License-Identifier: Apache-2.0
"""What a group of measurements is: series that took turns, so that the values with one index are of
one round and their ratio is what the machine did not change."""
import dataclasses
import random
import time

import stats


@dataclasses.dataclass
class Group:
    """`series`: name -> one value per round, None where it had no turn. Ratios are to `base`, or to
    the base in `bases`. `ours` is what the gate looks at, if there is a base; stages explain and
    do not fail it. A rate is better when higher, everything else when lower. `job` measured it."""
    name: str
    title: str
    unit: str
    series: dict
    base: str = ""
    bases: dict = dataclasses.field(default_factory=dict)
    ours: list = dataclasses.field(default_factory=list)
    rate: bool = False
    stages: bool = False
    job: str = ""
    notes: list = dataclasses.field(default_factory=list)
    left_out: dict = dataclasses.field(default_factory=dict)

    def values(self, name):
        return [value for value in self.series.get(name, ()) if value is not None]

    def ratios(self, name, base):
        """Of each round in which both had a turn."""
        pairs = zip(self.series.get(name, ()), self.series.get(base, ()))
        return [one / other for one, other in pairs if one is not None and other]

    def base_of(self, name):
        return self.bases.get(name, self.base)

    def cost(self, name):
        """The median ratio to the base, turned so that more is worse; None without a base."""
        ratios = self.ratios(name, self.base_of(name))
        if not ratios:
            return None
        middle = stats.median(ratios)
        return 1 / middle if self.rate and middle else middle


def from_json(rows):
    return [Group(**row) for row in rows]


def to_json(groups):
    return [dataclasses.asdict(group) for group in groups]


def take_turns(ways, rounds, warm=3, pause=0.0, every=None):
    """{name: [value of each round]}: each round calls all `ways` in an order of its own, after a
    pause in which what the one before left to be done is done. What is in `every` has its turn in
    each nth round only. The first rounds only warm up."""
    series = {name: [] for name in ways}
    every = every or {}
    for number in range(-warm, rounds):
        found = dict.fromkeys(ways)
        for name in random.sample(list(ways), len(ways)):
            if number % every.get(name, 1) == 0:
                time.sleep(pause)
                found[name] = ways[name]()
        if number >= 0:
            for name, value in found.items():
                series[name].append(value)
    return series
