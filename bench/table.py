"""Rows of figures, their verdicts, and their form as text."""

import statistics

from pairing import compared, interval, quantile
from workloads import BASELINES, FLOOR

BEYOND = 1.1  # how far the same program may differ from itself
CONTROL = "corewise once more"
TARGETS_ARE_FOR = 2  # workers


def rows_of(workload, contenders, rows, environment, taken):
    """Returns a row for each contender: the figures of its processes, and the comparison with the best peer."""
    times = {label: [row[workload.compares] for row in of] for label, of in rows.items()}
    peers = [c.label for c in contenders if not c.is_ours and c.name not in BASELINES]
    floor = next((times[c.label] for c in contenders if c.name == FLOOR), None)
    best = min(peers, key=lambda label: statistics.median(times[label]), default=None) if workload.has_ratio else None
    control = compared(times[CONTROL], times[contenders[0].label]) if workload.has_ratio else None
    noisy = control is not None and not 1 / BEYOND <= control[1] <= control[2] <= BEYOND
    result = []
    for c in contenders:
        of = rows[c.label]
        t = [row["median"] for row in of]
        row = {"workload": workload.name, "contender": c.name, "kind": c.kind,
               "profile": c.profile or ("default" if c.is_ours else ""), "unit": of[0]["unit"],
               "compares": workload.compares, "median": statistics.median(t), "p10": quantile(t, 0.1),
               "p90": quantile(t, 0.9)}
        for tail in ("p99", "p999"):
            if tail in of[0]:
                row[tail] = statistics.median(r[tail] for r in of)
        if "columns" in of[0]:
            row["columns"] = {name: statistics.median(r["columns"][name] for r in of) for name in of[0]["columns"]}
        if best is not None:
            ratio, low, high = compared(times[c.label], times[best])
            row.update(best_peer=best, ratio=ratio, low=low, high=high)
        if floor is not None:
            row["to_floor"] = compared(times[c.label], floor)
        row.update(noisy=noisy, control=control, taken_by_others=taken, processes=t,
                   checksum=of[0]["checksum"], size=of[0].get("size", 0) if workload.usual else 0, **environment)
        row["workers"] = workload.workers or row["workers"]
        if row["profile"] == "default" and workload.target and row["workers"] == TARGETS_ARE_FOR:
            row["target"] = judged(workload.target, row, times[c.label])
        result.append(row)
    return result


def noise_of(row):
    """Returns the difference that the same program shows to itself."""
    if not row["noisy"]:
        return 1
    _, low, high = row["control"]
    return max(high, 1 / low)


def judged(target, row, times):
    """Tells whether a target holds: the upper end of the interval does not exceed it. With one peer the best is unknown."""
    if target.of == "best peer":
        if "ratio" not in row or "--against" in row.get("options", ""):
            return None
        _, low, high = row["ratio"], row["low"], row["high"]
    elif target.of == FLOOR:
        if "to_floor" not in row:
            return None
        _, low, high = row["to_floor"]
    else:
        low, high = interval(times)
    said = "held" if high <= target.at_most else "missed" if low > target.at_most * noise_of(row) else "cannot tell"
    return {"at_most": target.at_most, "of": target.of, "low": low, "high": high, "said": said}


def verdict(row):
    """Returns the verdict in words. On a noisy machine a difference that the same program shows to itself tells nothing."""
    noise = noise_of(row)
    if row["high"] * noise <= 1:
        return "not slower"
    return "slower" if row["low"] > noise else "cannot tell"


def target_line(label, t):
    times = "x " if t["of"] in ("best peer", FLOOR) else ""
    return (f"  target of {label}: at most {t['at_most']:g} {times}{t['of']}, interval [{t['low']:.3f}, {t['high']:.3f}]: "
            f"{t['said']}")


def width(name):
    return max(10, len(name) + 2)


def table(workload, contenders, rows):
    first = rows[0]
    size = str(first["size"] or "")
    lines = [f"{workload.name}{'' if workload.name.endswith(size) else ' ' + size}: {first['unit']} ({workload.operation}), "
             f"{first['workers']} workers, {len(first['processes'])} processes of each"]
    tails = "p99" in first
    more = list(first.get("columns", {}))
    lines.append(f"  {'contender':<32}{'median':>10}{'p10':>10}{'p90':>10}" +
                 (f"{'p99':>10}{'p99.9':>10}" if tails else "") + "".join(f"{name:>{width(name)}}" for name in more) +
                 (f"   / best peer{'' if workload.compares == 'median' else ', ' + workload.compares}"
                  if workload.has_ratio else ""))
    for c, row in zip(contenders, rows):
        line = f"  {c.label:<32}{row['median']:>10.1f}{row['p10']:>10.1f}{row['p90']:>10.1f}"
        if tails:
            line += f"{row['p99']:>10.1f}{row['p999']:>10.1f}"
        line += "".join(f"{row['columns'].get(name, 0):>{width(name)}.1f}" for name in more)
        if "ratio" in row:
            line += f"   {row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
            line += "  best peer" if c.label == row["best_peer"] else f"  {verdict(row)}" if c.is_ours else ""
        lines.append(line)
    if "to_floor" in first:
        lines.append("  corewise / futex {:.3f} [{:.3f}, {:.3f}]".format(*first["to_floor"]))
    lines += [target_line(c.label, row["target"]) for c, row in zip(contenders, rows) if row.get("target")]
    if first["control"]:
        lines.append("  corewise against itself {:.3f} [{:.3f}, {:.3f}]".format(*first["control"]))
    lines.append(f"  others took {100 * first['taken_by_others']:.0f}% of the machine")
    if first["noisy"]:
        lines.append("  NOISY: the same program differs from itself by more than 10%; what differs less than that tells nothing")
    return "\n".join(lines)
