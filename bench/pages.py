"""The generated tables of docs/figures/*.md: the page of each row, and the form of a table of rows."""

import json
import math
import os
import statistics

import decisions
from pairing import ROOT, Failed, compared
from table import verdict

ELSEWHERE = os.path.join(ROOT, "bench", "elsewhere.json")
AXES = ["ping-pong", "chained-fork", "fork-many", "yield-many"]
WITH_BOTH_FORMS = [*AXES, "ping-pong-halves"]  # of a oneshot

# Page: its tables, each with its title and its workloads.
PAGES = {
    "axes": [("The four axes", WITH_BOTH_FORMS)],
    "one_worker": [("The four axes with one worker", WITH_BOTH_FORMS)],
    "fork_join": [("Fork-join", ["fib", "skynet", "nqueens", "matmul"])],
    "small_tasks": [("Many small tasks", ["spawn_many_local", "spawn_many_remote_busy1", "spawn_many_remote_busy2"])],
    "channels": [("Channels", ["channel-1to1-1024", "channel-1to1-65536", "channel-4to4-1024", "channel-4to4-65536"])],
    "outside": [("From outside", ["outside-1", "outside-2", "outside-8", "outside-call"])],
    "wake": [("A pool at rest is given a task", ["outside-wake", "outside-waking"])],
    "open_loop": [("A service", ["open_loop-50", "open_loop-70", "open_loop-90"])],
    "blocking": [("Tasks that block, and turns", ["blocking_mix", "fairness"])],
    "memory": [("Memory", ["memory-worker", "memory-task", "memory-queued"])],
    "idle": [("At rest", ["idle-2", "idle-64", "idle-256"])],
    "placing": [("Choosing a worker", ["placing-hot", "placing-cold"])],
}
PAGES["profiles"] = [table for name, of in PAGES.items() if name not in ("one_worker", "placing") for table in of]
TAILS = ["median", "p99", "p999"]
UNITS = {"ns/op": "ns"}


def rows_in(paths):
    """Returns the rows of the files; each row remembers its file."""
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            rows += [{**json.loads(line), "file": os.path.basename(path)} for line in lines]
    return rows


def circumstances_of(row):
    """Returns the values that the rows of one table have in common."""
    return tuple(row[name] for name in ("file", "compiler", "flags", "machine", "preload", "options", "commit"))


def grouped(rows, key):
    """Returns the rows by their key, in the order of the first row of each key."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def page_of(row, of_profiles):
    """Returns the page that shows a row. `of_profiles`: a learned-from profile was measured in the same run."""
    if of_profiles:
        return "profiles"
    if row["workers"] == 1 and row["workload"] in WITH_BOTH_FORMS:
        return "one_worker"
    for page, tables in PAGES.items():
        if page not in ("profiles", "one_worker") and any(row["workload"] in names for _, names in tables):
            return page
    raise Failed(f"no page shows the workload {row['workload']}")


def rows_by_page(rows):
    pages = {page: [] for page in PAGES}
    for of in grouped(rows, circumstances_of).values():
        of_profiles = any(row["profile"] not in ("", "default") for row in of)
        for row in of:
            pages[page_of(row, of_profiles)].append(row)
    return pages


def label_of(row):
    if not row["profile"]:
        return f"{row['contender']}, {row['kind']}"
    return f"corewise{'' if row['profile'] == 'default' else ' ' + row['profile']}, {row['kind']}"


def unit_of(row):
    return UNITS.get(row["unit"], row["unit"])


def number(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}" if x >= 1 or x == 0 else f"{x:.2f}"


def figure_of(row):
    """Returns a median, or p50 / p99 / p99.9 of a tail; and the figures beside it, if it is one more figure or all of a tail."""
    text = " / ".join(number(row[q]) for q in TAILS) if "p999" in row else number(row["median"])
    more = row.get("columns", {})
    if more and "p999" in row:
        return f"{text}; {' / '.join(map(number, more.values()))}"
    return text + "".join(f", {name} {number(value)}" for name, value in more.items())


def interval(ratio, low, high):
    return f"{ratio:.2f} [{low:.2f}, {high:.2f}]"


def against_best(row):
    if "ratio" not in row:
        return ""
    return f"{interval(row['ratio'], row['low'], row['high'])} ({row['best_peer'].partition(',')[0]}), {verdict(row)}"


def target_of(row):
    t = row.get("target")
    if not t:
        return ""
    limit = {"best peer": f"{t['at_most']:g} x best peer", "futex": f"{t['at_most']:g} x futex"}.get(
        t["of"], f"{t['at_most']:g} {UNITS.get(t['of'], t['of'])}")
    return f"≤ {limit}: {t['said']}"


def markdown(head, lines):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *lines])


def kinds_of_ours(of):
    return list(dict.fromkeys(r["kind"] for r in of if r["profile"] == "default"))


def table_of(names, of):
    """Returns a table with a line for each contender and a column for each workload."""
    columns = {name: {label_of(r): r for r in of if r["workload"] == name} for name in names}
    labels = list(dict.fromkeys(label for column in columns.values() for label in column))
    heads = [f"{name}, {unit_of(next(iter(c.values())))}" for name, c in columns.items()]
    lines = [[label, *(figure_of(c[label]) if label in c else "" for c in columns.values())] for label in labels]
    for kind in kinds_of_ours(of):
        ours = [column.get(f"corewise, {kind}") for column in columns.values()]
        for said, tell in ((f"corewise, {kind} / best peer", against_best), (f"target of corewise, {kind}", target_of)):
            cells = [tell(row) if row else "" for row in ours]
            if any(cells):
                lines.append([said, *cells])
    controls = [next(iter(c.values())) for c in columns.values()]
    if any(row["control"] for row in controls):
        lines.append(["corewise / itself", *(
            interval(*row["control"]) + (", noisy" if row["noisy"] else "") if row["control"] else "" for row in controls)])
    return markdown(["", *heads], lines)


def placing_table(of):
    sizes = decisions.sizes_of(of)
    return markdown(["ns hot / cold, by workers", "loads", *map(str, sizes)],
                    [[policy, loads, *(decisions.cell(of, policy, loads, n) for n in sizes)]
                     for policy in decisions.policies_of(of) for loads in decisions.LOADS])


def command_of(row, names):
    names = list(dict.fromkeys(name.partition("-")[0] if name.startswith("placing-") else name for name in names))
    preload = f"LD_PRELOAD={row['preload']} " if row["preload"] else ""
    return " ".join([preload + "bench/run", *filter(None, [row["options"]]), *(f"--only {name}" for name in names)])


def preloaded(row):
    return f"{os.path.basename(row['preload'])} preloaded; " if row["preload"] else ""


def caption_of(names, of):
    """Returns the command that measures a table again, and the conditions of the measurement."""
    first = of[0]
    taken = max(row["taken_by_others"] for row in of)
    return (f"`{command_of(first, names)}`\n\n{len(first['processes'])} processes of each contender; commit {first['commit']}; "
            f"{first['compiler']}, {first['flags']}; {preloaded(first)}other programs took up to {100 * taken:.0f}% of the machine; "
            f"[{first['file']}]({first['file']}).")


def tables_of(page, rows):
    """Returns all tables of a page: a heading for each machine and, on a page with several subjects, for each subject."""
    parts = []
    for machine, on in grouped(rows, lambda row: row["machine"]).items():
        parts.append(f"## {machine}")
        for title, workloads in PAGES[page]:
            found = [row for row in on if row["workload"] in workloads]
            if found and len(PAGES[page]) > 1:
                parts.append(f"### {title}")
            for of in grouped(found, circumstances_of).values():
                names = [name for name in workloads if any(row["workload"] == name for row in of)]
                parts += [caption_of(names, of), placing_table(of) if names[0].startswith("placing-") else table_of(names, of)]
    return text_of(parts)


def known_elsewhere():
    with open(ELSEWHERE, encoding="utf-8") as file:
        return json.load(file)


def scaled(entry, rows):
    """Yields, for each peer of an entry, the time that it would take here, and the ratio of corewise to that."""
    def fits(row):
        return row["workload"] == entry["workload"] and row.get("size") == entry.get("size", row.get("size"))

    by = next((row for row in rows if fits(row) and row["contender"] == entry["by"]), None)
    ours = [row for row in rows if fits(row) and row["profile"] == "default"]
    if by is None or not ours:
        return {}
    row = min(ours, key=lambda r: r["median"])
    result = {}
    for peer, reached in entry["reached"].items():
        times = [reached / entry["is"] * t for t in by["processes"]]
        result[peer] = (row, statistics.median(times), compared(row["processes"], times))
    return result


def means_elsewhere(rows):
    """Returns, for each peer of elsewhere.json with all figures, the geometric mean of corewise's ratios to it."""
    known = known_elsewhere()
    ratios = {}
    for entry in known["figures"]:
        for peer, (_, _, ratio) in scaled(entry, rows).items():
            ratios.setdefault(peer, {})[entry["workload"]] = ratio[0]
    whole = known["geometric_mean_of"]
    return {peer: math.prod(of_peer[name] for name in whole) ** (1 / len(whole))
            for peer, of_peer in ratios.items() if all(name in of_peer for name in whole)}


def elsewhere(rows):
    """Returns the tables of the peers that Debian does not have."""
    known = known_elsewhere()
    parts = []
    for machine, on in grouped((row for row in rows if row["workers"] == 2), lambda row: row["machine"]).items():
        tables = []
        for of in grouped(on, circumstances_of).values():
            lines = [[entry["workload"], peer, f"{number(here)} {unit_of(row)}", entry["by"],
                      f"{number(row['median'])} ({row['kind']})", interval(*ratio)]
                     for entry in known["figures"] for peer, (row, here, ratio) in scaled(entry, of).items()]
            lines += [[f"geometric mean of {', '.join(known['geometric_mean_of'])}", peer, "", "", "", f"{mean:.2f}"]
                      for peer, mean in means_elsewhere(of).items()]
            if lines:
                first = of[0]
                tables += [f"`bench/run {first['options']}`; commit {first['commit']}; {first['compiler']}; {preloaded(first)}"
                           f"[{first['file']}]({first['file']}):",
                           markdown(["", "peer", "would take here", "scaled by", "corewise", "corewise / peer"], lines)]
        if tables:
            parts += [f"## {machine}", *tables]
    return text_of(parts)


def files_table(rows):
    """Returns the table of the data files and their content."""
    def of_each(of, name):
        return ", ".join(dict.fromkeys(row[name] for row in of))

    return markdown(["data", "machine", "compiler", "commits", "rows"],
                    [[f"[{name}]({name})", of_each(of, "machine"), of_each(of, "compiler"), of_each(of, "commit"), str(len(of))]
                     for name, of in grouped(rows, lambda row: row["file"]).items()]) + "\n"


def text_of(parts):
    return "\n\n".join(parts) + "\n" if parts else ""
