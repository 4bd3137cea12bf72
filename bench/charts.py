"""Rows of figures as pictures (SVG), drawn by gnuplot."""

import hashlib
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
        # The logarithm of zero has no picture.
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


def canvas(width, height, title):
    """Returns the head of a script for a chart in a page: gnuplot writes the SVG to its standard output."""
    return [f'set terminal svg size {width},{height} noenhanced font "sans,13" background rgb "white"', "set border 0",
            "set tics scale 0", "set style fill solid", f'title = "{title}"']


def panels(of, title):
    """Draws horizontal bars, a row of panels for each machine. `of`: machine, workload, and the name, row and figure of each bar,
    ours first."""
    machines = list(dict.fromkeys(machine for machine, _, _ in of))
    columns = list(dict.fromkeys(workload for _, workload, _ in of))
    height = 54 + 196 * len(machines)
    blocks, plots = [], []
    for machine, workload, rows in of:
        name = f"panel{len(plots)}"
        data = [f'{-at} {row["median"]} {row["p10"]} {row["p90"]} {OURS if at == 0 else PEER} "{said}" "{figure}"'
                for at, (said, row, figure) in enumerate(rows)]
        blocks.append(block(name, data))
        r, c = machines.index(machine), columns.index(workload)
        top, left = 1 - (74 + 196 * r) / height, 0.10 + 0.225 * c
        plots += [f"set tmargin at screen {top:.4f}", f"set bmargin at screen {top - 140 / height:.4f}",
                  f"set lmargin at screen {left:.4f}", f"set rmargin at screen {left + 0.19:.4f}",
                  f"set xrange [0:{1.3 * max(row['p90'] for _, row, _ in rows):.4g}]", f"set yrange [{0.5 - len(rows)}:0.5]",
                  f'set title "{machine}: {workload}" offset 0,-0.6', "unset xtics",
                  f"plot ${name} using ($2/2):1:($2/2):(0.38):5:ytic({6 if c == 0 else 'stringcolumn(6)[1:0]'}) with boxxyerror "
                  f"lc rgb variable, '' using 2:1:3:4 with xerrorbars pt 0 lc rgb 'black', "
                  "'' using 4:1:7 with labels left offset 0.6,0 font \"sans,12\"", "unset label 1"]
    return "\n".join([*blocks, *canvas(900, height, title), "unset key", "set multiplot",
                      f"set label 1 title at screen 0.5,{1 - 18 / height:.4f} center", *plots, "unset multiplot"])


def ratios(of, title):
    """`of`: for each machine, in the order of the lines, the name of the comparison and our row, if there is one."""
    names = list(dict.fromkeys(name for lines in of.values() for name, _ in lines))
    at = {name: -line for line, name in enumerate(names)}
    height = 90 + 19 * len(names)
    blocks, plots = [], []
    for m, (machine, lines) in enumerate(of.items()):
        shift = 0.16 - 0.32 * m
        data = [f'{row["ratio"]:.4g} {at[name] + shift:.2f} {row["low"]:.4g} {row["high"]:.4g}' for name, row in lines if row]
        blocks.append(block(f"machine{m}", data or ["NaN NaN NaN NaN"]))
        plots.append(f"$machine{m} using 1:2:3:4 with xerrorbars pt 7 ps 0.6 lw 1.5 lc rgb {LINES[m]} title \"{machine}\"")
    tics = ", ".join(f'"{name.replace("%", "%%")}" {line}' for name, line in at.items())
    return "\n".join([*blocks, *canvas(900, height, title), f"set label 1 title at screen 0.5,{1 - 18 / height:.4f} center",
                      "set lmargin at screen 0.345", f"set tmargin at screen {1 - 34 / height:.4f}", f"set ytics ({tics})",
                      f"set yrange [{0.5 - len(names)}:0.7]", "set logscale x", "set xrange [0.1:20]",
                      "set xtics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)", "set grid x lt 1 lc rgb '#dddddd'", "set grid y lt 1 lc rgb '#eeeeee'",
                      "set key below", f"set arrow 1 from 1,{0.5 - len(names)} to 1,0.7 nohead lw 1.5 lc rgb 'black'",
                      "plot " + ", ".join(plots)])


def signature(script):
    return f"<!-- bench/report drew this by a script with SHA-256 {hashlib.sha256(script.encode()).hexdigest()} -->"


def signed(svg, script):
    """Names the script in the picture, so that a reader without gnuplot can tell whether the picture is up to date."""
    return svg.rstrip("\n") + "\n" + signature(script) + "\n"


def is_drawn_from(svg, script):
    return svg.endswith(signature(script) + "\n")


def run_gnuplot(script):
    answer = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True)
    if answer.returncode != 0:
        raise Failed(f"gnuplot: {answer.stderr.strip()}")
    return answer.stdout


def drawn(script):
    """Returns the picture that a script draws on its standard output."""
    needs_gnuplot()
    return signed(run_gnuplot(script), script)


def draw(rows, directory):
    """Draws a picture for each workload, and one more for a workload with tails."""
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
        run_gnuplot(script)
