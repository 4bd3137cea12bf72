//! busy1; see workload.hpp.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
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

/// Tasks that keep the workers busy until this is gone.
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
    let (signal, end) = sync_channel(1);
    let left = Arc::new(AtomicU64::new(tasks));
    for _ in 0..tasks {
        let left = left.clone();
        let signal = signal.clone();
        runtime.spawn(async move {
            if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                signal.send(()).unwrap();
            }
        });
    }
    end.recv().unwrap();
    tasks
}
