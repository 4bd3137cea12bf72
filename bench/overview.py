"""The content of docs/performance.md: for each machine one table of the newest figures beside the best peer, and the charts."""

import os

import charts
from pages import AXES, circumstances_of, grouped, interval, label_of, markdown, means_elsewhere, number, unit_of
from table import verdict

# Machine: the files whose rows are shown. The newest row of a workload is the last one, so newer files come
# later. If the newest file is of hours in which the machine was slow, a column shows the rows before it as
# well.
MACHINES = {
    "AMD EPYC": {"files": ["gcc.jsonl", "reference.jsonl", "clang_one_worker.jsonl", "clang.jsonl", "clang_slow_hours.jsonl",
                           "clang_calm.jsonl"],
                 "slow": "clang_slow_hours.jsonl"},
    "Intel Xeon": {"files": ["clang_intel.jsonl"], "slow": None},
}
NAMES = {"corewise": "corewise", "tbb": "oneTBB", "asio": "Asio", "mutex_pool": "mutex pool", "tokio": "Tokio"}
WORKLOADS = [  # workload, workers, meaning of the figure
    *((name, 2, f"{name}, 2 workers") for name in AXES),
    *((name, 1, f"{name}, 1 worker") for name in AXES),
    ("outside-1", 2, "a task from 1 thread outside"),
    ("outside-8", 2, "a task from 8 threads outside"),
    ("outside-call", 2, "the call of `submit`, workers awake"),
    ("outside-wake", 2, "pool at rest: until the task begins"),
    ("outside-waking", 2, "pool at rest: the call that wakes"),
    ("fib", 2, "fork-join: fib, a call"),
    ("skynet", 2, "fork-join: skynet, a leaf"),
    ("nqueens", 2, "fork-join: nqueens, a board"),
    ("matmul", 2, "fork-join: matmul, a block"),
    ("channel-1to1-1024", 2, "channel, 1 + 1, room 1,024: a value"),
    ("channel-1to1-65536", 2, "channel, 1 + 1, room 65,536: a value"),
    ("channel-4to4-1024", 2, "channel, 4 + 4, room 1,024: a value"),
    ("channel-4to4-65536", 2, "channel, 4 + 4, room 65,536: a value"),
    ("open_loop-50", 2, "service at 50% load: p99"),
    ("open_loop-70", 2, "service at 70% load: p99"),
    ("open_loop-90", 2, "service at 90% load: p99"),
    ("blocking_mix", 2, "1 task in 20 blocks: a task"),
    ("fairness", 2, "200 yielders: the longest wait"),
    ("memory-task", 2, "memory of a queued task"),
    ("memory-worker", 2, "memory of a worker, without its stack"),
    ("spawn_many_local", 2, "one task submits 10,000: a task"),
    ("spawn_many_remote_busy1", 2, "from outside to workers whose tasks yield"),
    ("spawn_many_remote_busy2", 2, "from outside to workers whose tasks spawn"),
]
SAID = {"not slower": "better", "slower": "**worse**", "cannot tell": "cannot tell"}


class Comparison:
    """corewise and its best peer in one workload."""

    def __init__(self, of):
        self.rows = of
        ours = [row for row in of if row["profile"] == "default" and "best_peer" in row]
        self.ours = next((row for row in ours if row["kind"] == "closure"), ours[0] if ours else None)
        self.peer = self.ours and next((row for row in of if label_of(row) == self.ours["best_peer"]), None)

    def figure_of(self, row):
        return number(row[self.ours["compares"]])

    def peer_figure(self):
        return f"{self.figure_of(self.peer)} {NAMES[self.peer['contender']]}"

    def said(self):
        return SAID[verdict(self.ours)]


def comparison(rows, workload, workers):
    """The newest comparison among the rows, or None."""
    found = [row for row in rows if row["workload"] == workload and row["workers"] == workers]
    complete = [c for c in map(Comparison, grouped(found, circumstances_of).values()) if c.peer]
    return complete[-1] if complete else None


def rows_of(files, rows):
    return [row for name in files for row in rows if row["file"] == name]


def engine_of(row):
    compiler = "Clang" if "clang" in row["compiler"] else "GCC"
    return f"{row['commit']}, {compiler}{', tcmalloc' if 'tcmalloc' in row['preload'] else ''}"


def machine_table(machine, rows):
    files, slow = MACHINES[machine]["files"], MACHINES[machine]["slow"]
    newest = rows_of(files, rows)
    calm = rows_of([name for name in files if name != slow], rows) if slow else []
    head = ["", "corewise", "best peer", "corewise / peer", "corewise is", "commit, compiler", *(["before, in a calm hour"] if slow else [])]
    lines, joins = [], None
    for workload, workers, title in WORKLOADS:
        c = comparison(newest, workload, workers)
        if c is None:
            continue
        joins = c.ours if workload == "matmul" else joins
        line = [f"{title}, {unit_of(c.ours)}", c.figure_of(c.ours), c.peer_figure(),
                interval(c.ours["ratio"], c.ours["low"], c.ours["high"]), c.said(), engine_of(c.ours)]
        if slow:
            before = comparison(calm, workload, workers) if c.ours["file"] == slow else None
            line.append(f"{before.ours['ratio']:.2f} ({before.figure_of(before.ours)} / {before.peer_figure()}), {before.said()}"
                        if before else "")
        lines.append(line)
    if joins:
        same = [row for row in newest if circumstances_of(row) == circumstances_of(joins)]
        lines += [[f"fork-join beside {peer}, scaled, mean of the four", "", "", f"{mean:.2f}", "", engine_of(joins),
                   *([""] if slow else [])] for peer, mean in means_elsewhere(same).items()]
    return markdown(head, lines)


def text_of(rows):
    """Returns a table for each machine with rows."""
    tables = [(machine, machine_table(machine, rows)) for machine in MACHINES if rows_of(MACHINES[machine]["files"], rows)]
    return "\n\n".join(f"## {machine}, 2 CPUs\n\n{table}" for machine, table in tables) + "\n" if tables else ""


def axes_chart(rows):
    """Returns the gnuplot script of corewise beside its peers on the four axes, a row of panels for each machine."""
    panels = []
    for machine in MACHINES:
        for axis in AXES:
            c = comparison(rows_of(MACHINES[machine]["files"], rows), axis, 2)
            if c is not None:
                of = [c.ours, *(row for name in list(NAMES)[1:] for row in c.rows if row["contender"] == name)]
                panels.append((machine, axis, [(NAMES[row["contender"]], row, number(row["median"])) for row in of]))
    return charts.panels(panels, "ns per operation, 2 workers: median of the processes, whiskers from p10 to p90; shorter is better")


def ratios_chart(rows):
    """Returns the gnuplot script of corewise / best peer with its interval: a line for each workload, a point for each machine."""
    points = {}
    for machine in MACHINES:
        of = rows_of(MACHINES[machine]["files"], rows)
        points[machine] = [(title.replace("`", ""), comparison(of, workload, workers)) for workload, workers, title in WORKLOADS]
    return charts.ratios({machine: [(title, c and c.ours) for title, c in of] for machine, of in points.items()},
                         "corewise / best peer, with its 95% interval: left of 1 corewise is better")


CHARTS = {"axes.svg": axes_chart, "ratios.svg": ratios_chart}
