//! The four axes on Tokio's multi-thread runtime, as those of `corewise run`.

use crate::finish_line::FinishLine;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::Arc;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

const PAIRS: u64 = 1_000;
const LINKS: u64 = 1_000;
const TASKS: u64 = 10_000;
const YIELDERS: u64 = 200;
const YIELDS: u64 = 1_000;

/// Returns the operations of a pass of an axis, and the pass, which returns how many it has seen done.
pub fn axis(name: &str) -> Option<(u64, fn(&Runtime) -> u64)> {
    match name {
        "ping-pong" | "ping-pong-halves" => Some((PAIRS, ping_pong)), // it has one form of a oneshot
        "chained-fork" => Some((LINKS, chained_fork)),
        "fork-many" => Some((TASKS, fork_many)),
        "yield-many" => Some((YIELDERS * YIELDS, yield_many)),
        _ => None,
    }
}

fn ping_pong(runtime: &Runtime) -> u64 {
    let (line, end) = FinishLine::of(PAIRS);
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
    let (line, end) = FinishLine::of(TASKS);
    for _ in 0..TASKS {
        let line = line.clone();
        runtime.spawn(async move { line.cross() });
    }
    end.recv().unwrap();
    TASKS
}

fn yield_many(runtime: &Runtime) -> u64 {
    let (line, end) = FinishLine::of(YIELDERS);
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
