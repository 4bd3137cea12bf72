"""The common parts of scripts that compare programs: processes in turn, ratios pair by pair with an interval, and the share of
the machine that other programs took meanwhile."""

import glob
import json
import os
import random
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The profiles of the systems that we learned from, in configs/.
LEARNED_FROM = ["zio", "zio-least-loaded", "nio", "volt", "tokio", "activity", "global-queue", "local-only"]


class Failed(Exception):
    """A program ended with an error, for example because a result was wrong."""


def complain(text):
    print(f"{os.path.relpath(sys.argv[0], ROOT)}: {text}", file=sys.stderr)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:<70}\r", end="", file=sys.stderr, flush=True)


def answer_of(command, read=json.loads, patience=600):
    """Runs a program that prints one line and returns what `read` makes of it, by default JSON. Ends the program after `patience`
    seconds."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as hung:
        raise Failed(f"{' '.join(command)} had not ended after {patience} s") from hung
    if answer.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with {answer.returncode}: {answer.stderr.strip()}")
    return read(answer.stdout)


def in_turn(commands, runs, what="", read=json.loads):
    """Runs one process of each, `runs` times over, so that a disturbance of the machine affects all. Returns their answers."""
    answers = {name: [] for name in commands}
    for done in range(runs):
        for name, command in commands.items():
            progress(f"{what}: {done + 1} of {runs}, {name}")
            answers[name].append(answer_of(command, read))
    progress("")
    return answers


def quantile(values, part):
    """Returns the nearest of the values."""
    return sorted(values)[round(part * (len(values) - 1))]


def interval(ratios):
    """Returns the 95% interval of the median of the ratios (bootstrap, 10,000 draws, seed 1)."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(10_000))
    return medians[249], medians[9_749]


def compared(ours, theirs):
    """Returns the median of the ratios run by run, and its interval."""
    ratios = [a / b for a, b in zip(ours, theirs)]
    low, high = interval(ratios)
    return statistics.median(ratios), low, high


class Machine:
    """The share of the machine's CPU time that other programs, and its host, took since this object was made."""

    def __init__(self):
        self.begin = self.times()

    @staticmethod
    def times():
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
        own = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
        busy = user + nice + system + irq + softirq + steal
        return busy, busy + idle + iowait, own

    def taken_by_others(self):
        busy, whole, own = (now - then for now, then in zip(self.times(), self.begin))
        return max(0.0, (busy - own) / whole) if whole else 0.0


def build_rust(folder, program, crate):
    """Builds a program in Rust from Debian's packages, offline, into build/bench. Returns its path, or None if the crate or cargo is
    missing."""
    cargo = "/usr/bin/cargo" if os.path.exists("/usr/bin/cargo") else shutil.which("cargo")
    registry = "/usr/share/cargo/registry"
    if cargo is None or not glob.glob(f"{registry}/{crate}-[0-9]*"):
        complain(f"no cargo or no librust-{crate}-dev, so {crate} itself is left out; see .ci/install bench")
        return None
    target = os.path.join(ROOT, "build", "bench", crate)
    subprocess.run(
        [cargo, "build", "--release", "--offline", "--quiet", "--target-dir", target,
         "--config", 'source.crates-io.replace-with="debian"',
         "--config", f'source.debian.directory="{registry}"'],
        cwd=os.path.join(ROOT, "bench", folder), check=True)
    return os.path.join(target, "release", program)


def build_tokio():
    """Builds the contender Tokio; does nothing if its packages are missing."""
    return build_rust("tokio", "tokio_contender", "tokio")
