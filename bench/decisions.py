"""The cost of a decision, as rows: one process of placing_cost measures all of them, and further processes follow."""

import json
import os
import statistics

from pairing import Failed, Machine, answer_of, progress, quantile

LOADS = ["one idle", "mixed", "even"]


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def measured(build, runs, rounds, environment):
    """Returns a row for each policy, state of the loads and number of workers, hot and cold."""
    program = os.path.join(build, "bench", "placing_cost")
    if not os.access(program, os.X_OK):
        raise Failed(f"{program} is not built; name the build with --build")
    machine = Machine()
    costs = {}
    for done in range(runs):
        progress(f"placing: {done + 1} of {runs}")
        for cost in answer_of([program, str(rounds), "json"], lines_of):
            for temperature in ("hot", "cold"):
                key = (temperature, cost["policy"], cost["loads"], cost["workers"])
                costs.setdefault(key, []).append(cost[temperature])
    progress("")
    taken = machine.taken_by_others()
    return [{**environment, "workload": f"placing-{temperature}", "contender": policy, "kind": loads, "profile": "",
             "unit": "ns", "compares": "median", "median": statistics.median(t), "p10": quantile(t, 0.1),
             "p90": quantile(t, 0.9), "noisy": False, "taken_by_others": taken, "processes": t, "size": workers,
             "workers": workers} for (temperature, policy, loads, workers), t in costs.items()]


def sizes_of(rows):
    return sorted({row["size"] for row in rows})


def cell(rows, policy, loads, workers):
    """hot / cold"""
    found = {row["workload"]: row["median"] for row in rows
             if (row["contender"], row["kind"], row["size"]) == (policy, loads, workers)}
    return f"{found['placing-hot']:.0f} / {found['placing-cold']:.0f}"


def policies_of(rows):
    return list(dict.fromkeys(row["contender"] for row in rows))


def table(rows):
    first = rows[0]
    sizes = sizes_of(rows)
    lines = [f"placing: ns hot / cold (a decision), by number of workers, {len(first['processes'])} processes",
             f"  {'policy':<20}{'loads':<10}" + "".join(f"{n:>13}" for n in sizes)]
    for policy in policies_of(rows):
        for loads in LOADS:
            lines.append(f"  {policy:<20}{loads:<10}" + "".join(f"{cell(rows, policy, loads, n):>13}" for n in sizes))
    lines.append(f"  others took {100 * first['taken_by_others']:.0f}% of the machine")
    return "\n".join(lines)
