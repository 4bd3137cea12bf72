//! busy1; see workload.hpp.

use crate::finish_line::FinishLine;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const STALL: Duration = Duration::from_micros(10);

fn work() {
    let began = Instant::now();
    while began.elapsed() < STALL {
        std::thread::yield_now();
    }
}

/// Tasks that keep the workers busy until this is dropped.
pub struct KeepingBusy(Arc<AtomicBool>);

impl KeepingBusy {
    pub fn of(runtime: &Runtime, workers: usize) -> KeepingBusy {
        let ends = Arc::new(AtomicBool::new(false));
        for _ in 0..2 * workers {
            let ends = ends.clone();
            runtime.spawn(async move {
                while !ends.load(Ordering::Relaxed) {
                    tokio::task::yield_now().await;
                    work();
                }
            });
        }
        KeepingBusy(ends)
    }
}

impl Drop for KeepingBusy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub fn pass(runtime: &Runtime, tasks: u64) -> u64 {
    let (line, end) = FinishLine::of(tasks);
    for _ in 0..tasks {
        let line = line.clone();
        runtime.spawn(async move { line.cross() });
    }
    end.recv().unwrap();
    tasks
}
