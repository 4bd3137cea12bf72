"""Rows of figures as pictures (SVG), drawn by gnuplot."""

import os
import shutil
import subprocess

from pairing import Failed

OURS, OF_PROFILES, PEER, BEST = 0x1F77B4, 0x9EC9E8, 0xB0B0B0, 0x6E6E6E
LINES = [0x1F77B4, 0xD62728, 0x2CA02C, 0xFF7F0E, 0x9467BD, 0x8C564B, 0xE377C2, 0x7F7F7F, 0xBCBD22, 0x17BECF]
QUANTILES = {"p10": "p10", "median": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}


def needs_gnuplot():
    if shutil.which("gnuplot") is None:
        raise Failed("charts need gnuplot (Debian's gnuplot-nox; .ci/install bench)")


def label_of(row):
    return (f"corewise {row['profile']}".replace(" default", "") if row["profile"] else row["contender"]) + f", {row['kind']}"


def color_of(row):
    if row["contender"] == "corewise":
        return OURS if row["profile"] == "default" else OF_PROFILES
    return BEST if label_of(row) == row.get("best_peer") else PEER


def block(name, lines):
    return "\n".join([f"${name} << END", *lines, "END"])


def caption(row):
    size = str(row["size"])
    name = row["workload"] if row["workload"].endswith(size) or not row["size"] else f"{row['workload']} {size}"
    return f"{name}, {row['workers']} workers, {len(row['processes'])} processes"


def head(path, title, width=900):
    return [f'set terminal svg size {width},480 noenhanced font "sans,12" background rgb "white"', f'set output "{path}"',
            f'set title "{title}"', "set border 3", "set tics nomirror", "set format y '%.10g'", "set grid y lc rgb '#dddddd'"]


def bars(rows, path):
    """Medians of the processes, with whiskers from the 10th to the 90th percentile."""
    data = [f'{i} {row["median"]} {row["p10"]} {row["p90"]} {color_of(row)} "{label_of(row)}"' for i, row in enumerate(rows)]
    return "\n".join([block("bars", data), *head(path, caption(rows[0]) + ": median, p10 - p90"), "unset key", "set yrange [0:*]",
                      f'set ylabel "{rows[0]["unit"]}"', "set style fill solid", "set boxwidth 0.7", "set xtics rotate by -35",
                      "plot $bars using 1:2:5:xtic(6) with boxes lc rgb variable, "
                      "'' using 1:3:(0):($4 - $3) with vectors heads size 0.08,90 lc rgb 'black'"])


def tails(rows, path):
    """From the 10th to the 99.9th percentile, a line for each contender."""
    blocks, plots = [], []
    for i, row in enumerate(rows):
        # Of no time at all a logarithm has no picture.
        data = [f'{at} {max(row[q], 1e-3)} "{name}"' for at, (q, name) in enumerate(QUANTILES.items())]
        blocks.append(block(f"tail{i}", data))
        width = 3 if row["contender"] == "corewise" and row["profile"] == "default" else 1.5
        plots.append(f"$tail{i} using 1:2:xtic(3) with linespoints lw {width} pt 7 ps 0.5 lc rgb {LINES[i % len(LINES)]} "
                     f'dt {1 + i // len(LINES)} title "{label_of(row)}"')
    return "\n".join([*blocks, *head(path, caption(rows[0]) + ": quantiles, medians of the processes"), "set key outside right",
                      "set logscale y", f'set ylabel "{rows[0]["unit"]}"', "plot " + ", ".join(plots)])


def decisions(rows, path):
    """A line over the numbers of workers for each policy and state of the loads."""
    blocks, plots = [], []
    policies = list(dict.fromkeys(row["contender"] for row in rows))
    loads = list(dict.fromkeys(row["kind"] for row in rows))
    for p, policy in enumerate(policies):
        for l, load in enumerate(loads):
            of = sorted((r for r in rows if (r["contender"], r["kind"]) == (policy, load)), key=lambda r: r["size"])
            blocks.append(block(f"line{p}_{l}", [f'{r["size"]} {r["median"]}' for r in of]))
            plots.append(f"$line{p}_{l} using 1:2 with linespoints lw 1.5 pt 7 ps 0.4 lc rgb {LINES[p]} dt {l + 1} "
                         f'title "{policy}, {load}"')
    title = f"{rows[0]['workload']}: a decision, medians of {len(rows[0]['processes'])} processes"
    return "\n".join([*blocks, *head(path, title), "set key outside right", "set logscale x 2", "set logscale y",
                      'set xlabel "workers"', 'set ylabel "ns"', "plot " + ", ".join(plots)])


def draw(rows, directory):
    """A picture for each workload, and one more where there are tails."""
    needs_gnuplot()
    os.makedirs(directory, exist_ok=True)
    scripts = []
    for name in dict.fromkeys(row["workload"] for row in rows):
        of = [row for row in rows if row["workload"] == name]
        path = os.path.join(directory, name)
        scripts.append(decisions(of, path + ".svg") if name.startswith("placing-") else bars(of, path + ".svg"))
        if "p999" in of[0]:
            scripts.append(tails(of, path + "-tail.svg"))
    for script in scripts:
        answer = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True)
        if answer.returncode != 0:
            raise Failed(f"gnuplot: {answer.stderr.strip()}")
