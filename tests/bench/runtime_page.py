# SPDX-License-Identifier: Apache-2.0
"""The table of docs/runtimes.md: of each runtime how it is isolated, and what it costs. It stands
between two lines of the page, the rest of which people write."""
import image_costs
import machines
import report
import runtime_costs
import stats

BEGIN, END = "<!-- ./dev bench --docs begins -->", "<!-- ./dev bench --docs ends -->"
HEAD = ("runtime", "isolation", "start, ms", "by the same without msp", "memory, MB")
SANDBOX = "sandbox"
# Runtime and isolation, and where the start is: group, series, its counterpart without msp; and the
# series of its memory.
ROWS = [(name, SANDBOX + more, "runtimes", name + runtime_costs.IN_MSP, name + runtime_costs.OUTSIDE, name)
        for name, more in ((runtime_costs.TRUE, ""), (runtime_costs.PYTHON, ""),
                           (runtime_costs.NODE, ""), (runtime_costs.TYPESCRIPT, ""),
                           (runtime_costs.WORKER, ", V8 isolate"),
                           (runtime_costs.WASM, ", memory of the module"))]
ROWS += [("/bin/true in an image, with `msp run`", SANDBOX + " without a file of the host", "image",
          image_costs.IMAGE, "bare", runtime_costs.TRUE),
         ("python in an image, with `msp run`", SANDBOX + " without a file of the host", "image-python",
          image_costs.IMAGE, "bare", runtime_costs.PYTHON),
         ("/bin/true in a virtual machine, with `msp run`", SANDBOX + ", kernel of its own", "machines",
          machines.IN_MSP, machines.OUTSIDE, "")]


def row(groups, runtime, isolation, group, series, base, memory):
    """The cells; None if it was not measured."""
    starts = groups.get(group)
    values = starts.values(series) if starts else []
    if not values:
        return None
    peaks = groups["runtimes-memory"].values(memory) if "runtimes-memory" in groups else []
    return [runtime, isolation, report.number(stats.median(values) / 1000),
            report.ratio_cell(starts, series, base),
            report.number(stats.median(peaks) / 1000 if peaks else None)]


def table(measured):
    """The lines; [] if nothing of it was measured."""
    groups = {group.name: group for group in measured}
    rows = [cells for cells in (row(groups, *one) for one in ROWS) if cells]
    return report.table(HEAD, rows) if rows else []


def fill(text, result, measured):
    """The page with the table of this run between its two lines."""
    lines = table(measured)
    before, begin, rest = text.partition(BEGIN + "\n")
    _, end, after = rest.partition(END + "\n")
    if not lines or not begin or not end:
        return text
    facts = result["facts"]
    lines += ["", f"Measured on {facts['date']} at commit {facts['commit']}: Linux {facts['kernel']}, "
              f"{facts['cpus']} processors, load {facts['load_before']} before and {facts['load_after']} at "
              f"the end, limits: {facts['limits']}. A start is from the request to the end of a program "
              "that says hello; with `msp run` it has the start of msp. Memory is the most that the "
              "largest process had."]
    return before + begin + "\n".join(lines) + "\n" + end + after
