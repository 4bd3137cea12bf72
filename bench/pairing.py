"""What scripts that compare programs have in common: processes in turn, ratios pair by pair with an interval, and how much
of the machine others took meanwhile."""

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
    """A program ended with an error, for one because a result was wrong."""


def complain(text):
    print(f"{os.path.relpath(sys.argv[0], ROOT)}: {text}", file=sys.stderr)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:<70}\r", end="", file=sys.stderr, flush=True)


def answer_of(command, read=json.loads, patience=600):
    """Runs a program that prints one line, of JSON unless told how to read it. It is ended when it takes longer than `patience`, in
    seconds."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as hung:
        raise Failed(f"{' '.join(command)} had not ended after {patience} s") from hung
    if answer.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with {answer.returncode}: {answer.stderr.strip()}")
    return read(answer.stdout)


def in_turn(commands, runs, what="", read=json.loads):
    """Runs one process of each, `runs` times over, so that what disturbs the machine disturbs all; the answers of each."""
    answers = {name: [] for name in commands}
    for done in range(runs):
        for name, command in commands.items():
            progress(f"{what}: {done + 1} of {runs}, {name}")
            answers[name].append(answer_of(command, read))
    progress("")
    return answers


def quantile(values, part):
    """The nearest of the values there are."""
    return sorted(values)[round(part * (len(values) - 1))]


def interval(ratios):
    """In which the median of the ratios lies with 95% (bootstrap, 10,000 draws, seed 1)."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(10_000))
    return medians[249], medians[9_749]


def compared(ours, theirs):
    """The median of the ratios run by run, and its interval."""
    ratios = [a / b for a, b in zip(ours, theirs)]
    low, high = interval(ratios)
    return statistics.median(ratios), low, high


class Machine:
    """How much of the machine's CPU time others took, its host included, since this was made."""

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


def build_tokio():
    """Builds the contender Tokio from Debian's packages, offline, into build/bench; nothing where they are missing."""
    cargo = "/usr/bin/cargo" if os.path.exists("/usr/bin/cargo") else shutil.which("cargo")
    registry = "/usr/share/cargo/registry"
    if cargo is None or not os.path.isdir(registry):
        complain("no cargo or no librust-tokio-dev, so Tokio itself is left out; see .ci/install bench")
        return None
    target = os.path.join(ROOT, "build", "bench", "tokio")
    subprocess.run(
        [cargo, "build", "--release", "--offline", "--quiet", "--target-dir", target,
         "--config", 'source.crates-io.replace-with="debian"',
         "--config", f'source.debian.directory="{registry}"'],
        cwd=os.path.join(ROOT, "bench", "tokio"), check=True)
    return os.path.join(target, "release", "tokio_contender")
