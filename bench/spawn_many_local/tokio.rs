//! See workload.hpp.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use tokio::runtime::Runtime;

pub fn pass(runtime: &Runtime, tasks: u64) -> u64 {
    let (signal, end) = sync_channel(1);
    let left = Arc::new(AtomicU64::new(tasks));
    runtime.spawn(async move {
        for _ in 0..tasks {
            let left = left.clone();
            let signal = signal.clone();
            tokio::spawn(async move {
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    signal.send(()).unwrap();
                }
            });
        }
    });
    end.recv().unwrap();
    tasks
}
