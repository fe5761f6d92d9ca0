# SPDX-License-Identifier: Apache-2.0
"""The regression gate: ratios of a run against those of the committed reference. A ratio is slower
when it leaves what the reference's own runs spread over, and does so again each time it is measured
anew. What got slower is named with the stages of a launch that got slower with it."""
import json
import math

import stats

VERSION = 1
AGAIN = 3  # how often a suspect is measured anew
SHARE = 0.12  # of the ratio: what no machine repeats
SPREADS = 1.5  # times the distance of the reference's least and greatest
STEP = 0.02  # of the base: a stage of a few microseconds may double


class Refused(Exception):
    """A reference, or a run, that cannot be compared."""


def costs(groups, stages=False):
    """{"group/series": the median ratio to its base, more is worse} of what is ours."""
    found = {}
    for group in groups:
        for name in group.ours if group.stages == stages else ():
            cost = group.cost(name)
            if cost is not None:
                found[f"{group.name}/{name}"] = cost
    return found


def make(runs, facts):
    """The reference of several runs, each a list of groups."""
    def collect(stages):
        found = {}
        for groups in runs:
            for key, cost in costs(groups, stages).items():
                found.setdefault(key, []).append(round(cost, 4))
        return {key: values for key, values in sorted(found.items()) if len(values) == len(runs)}

    optional = {group.name for groups in runs for group in groups if group.optional}
    machine = {key: facts.get(key) for key in ("kernel", "cpus", "limits", "processor", "commit")}
    return {"version": VERSION, "runs": len(runs), "machine": machine,
            "optional": sorted(optional), "ratios": collect(False), "stages": collect(True)}


def check_ratios(part, table, runs):
    if not isinstance(table, dict) or part == "ratios" and not table:
        raise Refused(f"the reference has no '{part}'")
    for key, values in table.items():
        if not isinstance(values, list) or len(values) != runs or not all(
                isinstance(value, (int, float)) and not isinstance(value, bool) and
                math.isfinite(value) and value > 0 for value in values):
            raise Refused(f"the reference's {part}: '{key}' is not {runs} ratios above 0")


def parse(text):
    """A reference out of its file's text."""
    try:
        reference = json.loads(text)
    except ValueError as problem:
        raise Refused(f"the reference is not JSON: {problem}") from None
    if not isinstance(reference, dict) or reference.get("version") != VERSION:
        raise Refused(f"the reference is not of version {VERSION}")
    runs = reference.get("runs")
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise Refused("the reference does not say of how many runs it is")
    for part in ("ratios", "stages"):
        check_ratios(part, reference.get(part), runs)
    if not isinstance(reference.get("machine", {}), dict) or not isinstance(
            reference.get("optional", []), list):
        raise Refused("the reference's 'machine' or 'optional' is broken")
    return reference


def limit(values):
    """Above which a ratio is slower than these."""
    middle = stats.median(values)
    return middle + max(SHARE * middle, SPREADS * (max(values) - min(values)), STEP)


def group_of(key):
    return key.split("/", 1)[0]


def check_complete(reference, groups, jobs=None):
    """Refuses when one has what the other lacks; returns notes on what may be missing."""
    known, notes = reference["ratios"], []
    measured = costs(groups)
    optional = set(reference.get("optional", [])) | {one.name for one in groups if one.optional}
    new = sorted({group_of(key) for key in measured} - {group_of(key) for key in known} - optional)
    if new:
        raise Refused(f"the reference has no group '{new[0]}': take it anew with "
                      "./dev bench --reference")
    names = {one.name for one in groups}
    for key in sorted(set(measured) - set(known)):
        if group_of(key) not in optional:
            raise Refused(f"the reference has no ratio '{key}': take it anew with "
                          "./dev bench --reference")
        notes.append(f"not in the reference: {key}")
    for key in sorted(set(known) - set(measured)):
        if group_of(key) in names or jobs is None and group_of(key) not in optional:
            raise Refused(f"'{key}' was not measured: the reference has it")
        if group_of(key) in optional and jobs is None:
            notes.append(f"not measured here: {key}")
    return notes


def suspects(reference, measured):
    """The keys whose ratio is beyond its limit."""
    known = reference["ratios"]
    return [key for key in sorted(measured) if key in known and measured[key] > limit(known[key])]


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


def compare(reference, measure, again=AGAIN, jobs=None):
    """(whether nothing is slower, lines). `measure(jobs)` gives the groups of some jobs, or of all
    for None."""
    groups = measure(jobs)
    notes = check_complete(reference, groups, jobs)
    measured, stages = costs(groups), costs(groups, stages=True)
    count = len(set(measured) & set(reference["ratios"]))
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
    lines = [line for key, ratios in seen.items()
             for line in describe(reference, key, ratios, stages)]
    if not lines:
        notes.append(f"gate: none of {count} ratios is slower than the reference of "
                     f"{reference['runs']} runs")
    return not lines, notes + lines
