//! The four axes on Tokio's multi-thread runtime, in the form of `corewise run`: the same workloads, warm-up, rounds and
//! keys, so that one script compares both.
//!
//!     tokio_axes ping-pong|chained-fork|fork-many|yield-many WORKERS ROUNDS

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

const WARM_UP: Duration = Duration::from_millis(300);
const ROUND: Duration = Duration::from_millis(50);

const PAIRS: u64 = 1_000;
const LINKS: u64 = 1_000;
const TASKS: u64 = 10_000;
const YIELDERS: u64 = 200;
const YIELDS: u64 = 1_000;

/// What all tasks of a pass count down; the last one signals.
struct FinishLine {
    left: AtomicU64,
    signal: SyncSender<()>,
}

impl FinishLine {
    fn cross(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.signal.send(()).unwrap();
        }
    }
}

fn ping_pong(runtime: &Runtime) -> u64 {
    let (signal, end) = sync_channel(1);
    let line = Arc::new(FinishLine { left: AtomicU64::new(PAIRS), signal });
    let wrong = Arc::new(AtomicU64::new(0));
    let wrong_of_root = wrong.clone();
    runtime.spawn(async move {
        for number in 0..PAIRS {
            let line = line.clone();
            let wrong = wrong_of_root.clone();
            tokio::spawn(async move {
                let (ask, asked) = oneshot::channel::<u64>();
                let (answer, answered) = oneshot::channel::<u64>();
                tokio::spawn(async move {
                    answer.send(asked.await.unwrap() + 1).unwrap();
                });
                ask.send(number).unwrap();
                if answered.await.unwrap() != number + 1 {
                    wrong.fetch_add(1, Ordering::Relaxed);
                }
                line.cross();
            });
        }
    });
    end.recv().unwrap();
    PAIRS - wrong.load(Ordering::Relaxed)
}

fn link(on: Handle, left: u64, done: SyncSender<u64>) {
    if left == 0 {
        done.send(LINKS).unwrap();
        return;
    }
    let next = on.clone();
    on.spawn(async move { link(next, left - 1, done) });
}

fn chained_fork(runtime: &Runtime) -> u64 {
    let (done, end) = sync_channel(1);
    link(runtime.handle().clone(), LINKS, done);
    end.recv().unwrap()
}

fn fork_many(runtime: &Runtime) -> u64 {
    let (signal, end) = sync_channel(1);
    let line = Arc::new(FinishLine { left: AtomicU64::new(TASKS), signal });
    for _ in 0..TASKS {
        let line = line.clone();
        runtime.spawn(async move { line.cross() });
    }
    end.recv().unwrap();
    TASKS
}

fn yield_many(runtime: &Runtime) -> u64 {
    let (signal, end) = sync_channel(1);
    let line = Arc::new(FinishLine { left: AtomicU64::new(YIELDERS), signal });
    for _ in 0..YIELDERS {
        let line = line.clone();
        runtime.spawn(async move {
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
            line.cross();
        });
    }
    end.recv().unwrap();
    YIELDERS * YIELDS
}

/// Repeats the workload for at least this time; answers nanoseconds and operations.
fn round(pass: fn(&Runtime) -> u64, runtime: &Runtime, at_least: Duration) -> (u128, u64) {
    let begin = Instant::now();
    let mut ops = 0;
    while begin.elapsed() < at_least {
        ops += pass(runtime);
    }
    (begin.elapsed().as_nanos(), ops)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let usage = "usage: tokio_axes ping-pong|chained-fork|fork-many|yield-many WORKERS ROUNDS";
    let (workload, workers, rounds) = match &words[..] {
        [_, workload, workers, rounds] => (
            workload.as_str(),
            workers.parse::<usize>().expect(usage),
            rounds.parse::<usize>().expect(usage),
        ),
        _ => panic!("{}", usage),
    };
    let pass: fn(&Runtime) -> u64 = match workload {
        "ping-pong" => ping_pong,
        "chained-fork" => chained_fork,
        "fork-many" => fork_many,
        "yield-many" => yield_many,
        _ => panic!("{}", usage),
    };
    let runtime = Builder::new_multi_thread().worker_threads(workers).build().unwrap();
    round(pass, &runtime, WARM_UP);
    let mut times = Vec::new();
    for _ in 0..rounds {
        let (ns, ops) = round(pass, &runtime, ROUND);
        times.push(ns as f64 / ops as f64);
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!(
        "{{\"workload\": \"{}\", \"profile\": \"Tokio itself\", \"workers\": {}, \"unit\": \"ns/op\", \"median\": {}, \"rounds\": {}}}",
        workload, workers, median, rounds
    );
}
