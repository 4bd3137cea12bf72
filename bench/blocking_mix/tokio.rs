//! See workload.hpp. A sleeper says so by `block_in_place`.

use crate::cpu_time::of_this_thread_ns;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const SLEEPS_EVERY: u64 = 20;
const CPU_NS: i64 = 50_000;
const SLEEP: Duration = Duration::from_millis(5);

fn work() {
    let until = of_this_thread_ns() + CPU_NS;
    while of_this_thread_ns() < until {}
}

pub fn pass(runtime: &Runtime, tasks: u64) -> u64 {
    let (signal, end) = sync_channel(1);
    let left = Arc::new(AtomicU64::new(tasks));
    for i in 0..tasks {
        let left = left.clone();
        let signal = signal.clone();
        runtime.spawn(async move {
            work();
            if i % SLEEPS_EVERY == 0 {
                tokio::task::block_in_place(|| std::thread::sleep(SLEEP));
            }
            if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                signal.send(()).unwrap();
            }
        });
    }
    end.recv().unwrap();
    tasks
}
