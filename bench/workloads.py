"""The workloads that bench/run measures. README.md has the same list in words."""

from dataclasses import dataclass, field
from typing import Optional

PEERS = ["tbb", "asio", "mutex_pool", "tokio"]
FLOOR = "futex"  # a bare hand-off, no pool
C_REFERENCE = ["c_reference_together", "c_reference_apart"]  # one thread allocates, workers spin
BASELINES = [FLOOR, *C_REFERENCE]  # shown, but no alternatives to a pool
BOTH = ["closure", "coroutine"]


@dataclass
class Target:
    """The limit for corewise's default profile with two workers: a multiple of the best peer or of the floor, or a figure."""

    at_most: float
    of: str = "best peer"


@dataclass
class Workload:
    name: str
    operation: str  # the operation whose time is shown
    folder: str
    quick: int = 0
    usual: int = 0
    reference: int = 0
    figure: str = ""
    kinds: list = field(default_factory=lambda: ["closure"])  # the kinds of tasks of corewise
    peers: list = field(default_factory=lambda: list(PEERS))
    kind_of_pools: str = "closure"  # the kind of tasks of peers in C++
    command: str = ""  # a workload of `corewise run`
    compares: str = "median"  # which figure of the processes
    has_ratio: bool = True  # to the best peer; if that takes next to nothing, the ratio says nothing
    target: Optional[Target] = None
    workers: int = 0  # where the workload has its own number

    def size(self, which):
        return getattr(self, which) or self.usual


def _axis(name, operation, **more):
    return Workload(name, operation, "axes", command=name, target=Target(0.8), **more)


def _busy(figure, tasks, **more):
    return Workload("spawn_many_remote_" + figure, "a task", "spawn_many_remote_busy", tasks, tasks, tasks, figure=figure,
                    kinds=BOTH, **more)


def _outside(name, operation, **more):
    return Workload("outside-" + name, operation, "outside", **more)


def _channel(figure, peers):
    return Workload("channel-" + figure, "a value", "channel", 100_000, 1_000_000, 10_000_000, figure=figure,
                    kinds=["coroutine"], peers=peers, kind_of_pools="thread")


def _memory(name, operation, quick, usual, **more):
    return Workload("memory-" + name, operation, "memory", quick, usual, usual, figure=name, **more)


WORKLOADS = [
    Workload("fib", "a call", "fib", 24, 28, 36, kinds=BOTH),
    Workload("skynet", "a leaf", "skynet", 5, 6, 8, kinds=BOTH),
    Workload("nqueens", "a board", "nqueens", 9, 11, 14, kinds=BOTH),
    Workload("matmul", "32 x 32 by 32 x 32", "matmul", 256, 512, 2048, kinds=BOTH),
    _axis("ping-pong", "a question and its answer", figure="ping-pong", kinds=["coroutine"], kind_of_pools="coroutine"),
    # The same by `make_oneshot`. Peers have one form of a oneshot.
    _axis("ping-pong-halves", "a question and its answer", figure="ping-pong", kinds=["coroutine"], kind_of_pools="coroutine"),
    _axis("chained-fork", "a task", figure="chained-fork"),
    _axis("fork-many", "a task", figure="fork-many"),
    _axis("yield-many", "a yield", figure="yield-many", kinds=["coroutine"], kind_of_pools="coroutine"),
    Workload("spawn_many_local", "a task", "spawn_many_local", 10_000, 10_000, 10_000),
    _busy("busy1", 10_000),
    _busy("busy2", 1_000, peers=["asio", "mutex_pool"]),  # the other peers would never end
    *(_outside(str(n), "a task", quick=n, usual=n, reference=n, figure="tasks",
               peers=PEERS + (C_REFERENCE if n == 1 else []), target=Target(90, "ns/op") if n == 1 else None)
      for n in (1, 2, 8)),
    _outside("call", "a call", figure="call", peers=[*PEERS, *C_REFERENCE], target=Target(60, "ns/op")),
    _outside("wake", "until the task begins", figure="wake", peers=[*PEERS, FLOOR], target=Target(1.1, FLOOR)),
    _outside("waking", "a call", figure="waking", peers=[*PEERS, FLOOR], target=Target(1.1, FLOOR)),
    *(_channel(f"1to1-{room}", ["tbb", "tokio"]) for room in (1024, 65536)),
    *(_channel(f"4to4-{room}", ["tbb"]) for room in (1024, 65536)),
    # A task takes 50 us of CPU time: 25 us a task if the two workers are never idle.
    Workload("blocking_mix", "a task", "blocking_mix", 2_000, 2_000, 2_000, target=Target(25_000 / 0.8, "ns/op")),
    Workload("fairness", "the longest wait of a pass", "fairness", 200, 200, 200, kinds=["coroutine"]),
    *(Workload(f"open_loop-{n}", "a response", "open_loop", n, n, n, compares="p99",
               target=Target(1.05) if n > 50 else None) for n in (50, 70, 90)),
    _memory("worker", "a worker besides its stack", 64, 64, target=Target(65_536, "bytes")),
    _memory("task", "a queued task", 100_000, 1_000_000, target=Target(64, "bytes")),
    _memory("queued", "all of the process", 100_000, 1_000_000),
    *(Workload(f"idle-{n}", "all but the thread that watches", "idle", has_ratio=False, workers=n) for n in (2, 64, 256)),
    Workload("placing", "a decision", "placing", has_ratio=False),
]
