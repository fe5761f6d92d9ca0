# SPDX-License-Identifier: Apache-2.0
"""The regression gate: ratios of one build against those of another, both measured in turns. A ratio
is slower when it leaves what the other build's runs spread over, and does so again each time it is
measured anew. What got slower is named with the stages of a launch that got slower with it."""
import stats

AGAIN = 3  # how often a suspect is measured anew
SHARE = 0.12  # of the ratio: what no machine repeats
SPREADS = 1.5  # times the distance of the reference's least and greatest
STEP = 0.02  # of the base: a stage of a few microseconds may double


class Refused(Exception):
    """Runs that cannot be compared."""


def costs(groups, stages=False):
    """{"group/series": the median ratio to its base, more is worse} of what is ours."""
    found = {}
    for group in groups:
        for name in group.ours if group.stages == stages else ():
            cost = group.cost(name)
            if cost is not None:
                found[f"{group.name}/{name}"] = cost
    return found


def make(runs, prices=None):
    """The reference of several runs, each a list of groups. `prices` are {group: factor}: so much more
    it may cost, for a reason that stands beside it."""
    def collect(stages):
        found = {}
        for groups in runs:
            for key, cost in costs(groups, stages).items():
                found.setdefault(key, []).append(cost)
        return {key: values for key, values in found.items() if len(values) == len(runs)}

    return {"runs": len(runs), "ratios": collect(False), "stages": collect(True),
            "prices": prices or {}}


def limit(values, price=1):
    """Above which a ratio is slower than these."""
    middle = price * stats.median(values)
    return middle + max(SHARE * middle, SPREADS * (max(values) - min(values)), STEP)


def group_of(key):
    return key.split("/", 1)[0]


def check_complete(reference, measured):
    """Refuse a comparison in which one build has a ratio that the other lacks."""
    lacking = sorted(set(measured) ^ set(reference["ratios"]))
    if lacking:
        raise Refused(f"'{lacking[0]}' was measured of one build only")
    if not measured:
        raise Refused("these groups have no ratio: --help names the groups that the gate compares")


def suspects(reference, measured):
    """The keys whose ratio is beyond its limit."""
    known, prices = reference["ratios"], reference["prices"]
    return [key for key in sorted(measured)
            if measured[key] > limit(known[key], prices.get(group_of(key), 1))]


def stage_rows(reference, measured, launcher=None):
    """[(growth, is it beyond its limit, what, ratio, the reference's)] of the stages of a launcher,
    or of all, most grown first."""
    rows = []
    for key, ratio in measured.items():
        name, _, stage = key.split("/", 1)[1].rpartition(": ")
        values = reference["stages"].get(key)
        if values and launcher in (None, name):
            middle = stats.median(values)
            rows.append((ratio - middle, ratio > limit(values),
                         stage if launcher else f"{stage} of {name}", ratio, middle))
    return sorted(rows, reverse=True)


def slower_stages(reference, key, measured):
    """Lines on the stages that are slower: of this launcher where its stages are known."""
    rows = (stage_rows(reference, measured, key.split("/", 1)[1]) or
            stage_rows(reference, measured))
    if not rows:
        return ["  no stages were measured"]
    lines = [f"  stage {what}: {ratio:.3f} x bare, in the reference {middle:.3f}"
             for _, is_beyond, what, ratio, middle in rows if is_beyond]
    if not lines:
        _, _, what, ratio, middle = rows[0]
        lines = [f"  in no stage more than usual; most in {what}: {ratio:.3f} x bare, in the "
                 f"reference {middle:.3f}"]
    return lines


def describe(reference, key, ratios, stages):
    values = reference["ratios"][key]
    middle, now = stats.median(values), min(ratios)
    return [f"slower: {key}: {now:.3f} of its base, in the reference {middle:.3f} "
            f"({min(values):.3f} to {max(values):.3f}): {100 * (now / middle - 1):.0f} % more, in "
            f"{len(ratios)} of {len(ratios)} measurements",
            *slower_stages(reference, key, stages)]


def compare(reference, groups, measure, again=AGAIN):
    """(whether nothing is slower, lines) of the groups of a run. `measure(jobs)` measures those of
    some jobs anew."""
    measured, stages = costs(groups), costs(groups, stages=True)
    check_complete(reference, measured)
    count = len(measured)
    seen = {key: [measured[key]] for key in suspects(reference, measured)}
    job_of = {group.name: group.job for group in groups}
    for _ in range(again):
        if not seen:
            break
        groups = measure(sorted({job_of[group_of(key)] for key in seen} | {
            group.job for group in groups if group.stages}))
        measured = costs(groups)
        stages = costs(groups, stages=True) or stages
        still = set(suspects(reference, measured))
        seen = {key: [*ratios, measured[key]] for key, ratios in seen.items() if key in still}
    if not seen:
        return True, [f"gate: none of {count} ratios is slower than in the reference's "
                      f"{reference['runs']} runs"]
    return False, [line for key, ratios in seen.items()
                   for line in describe(reference, key, ratios, stages)]
