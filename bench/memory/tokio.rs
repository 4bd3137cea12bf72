//! See workload.hpp. The tasks are coroutines, each of which keeps 32 bytes.

use crate::held_workers::HeldWorkers;
use crate::memory_use::{heap_bytes, resident_bytes, resident_of};
use crate::rounds::{print_figure, Options};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, SyncSender};
use std::time::Duration;
use tokio::runtime::Builder;

const REST: Duration = Duration::from_millis(200);

/// Prints the memory of a process with this many workers: resident bytes besides stacks, stacks, heap.
pub fn print_use_at_rest(o: &Options) -> bool {
    let runtime = Builder::new_multi_thread().worker_threads(o.workers).build().unwrap();
    let stacks = HeldWorkers::of(&runtime, o.workers).release();
    std::thread::sleep(REST);
    let of_stacks: f64 = stacks.into_iter().map(resident_of).sum();
    println!("{} {} {}", resident_bytes() - of_stacks, of_stacks, heap_bytes());
    true
}

fn use_of_a_process(workers: usize) -> Vec<f64> {
    let program = std::env::current_exe().unwrap();
    let told = Command::new(program).args(["memory-at-rest", "--workers", &workers.to_string()]).output().unwrap();
    String::from_utf8(told.stdout).unwrap().split_whitespace().map(|word| word.parse().unwrap()).collect()
}

pub fn print_worker(o: &Options) -> bool {
    let few = use_of_a_process(o.workers);
    let many = use_of_a_process(o.workers + o.size as usize);
    let [resident, stack, heap] = [0, 1, 2].map(|i| (many[i] - few[i]) / o.size as f64);
    print_figure("memory-worker", o, "bytes", resident, (o.size, o.size), &[("stack", stack), ("heap", heap)])
}

struct Line {
    left: AtomicU64,
    sum: AtomicU64,
    signal: SyncSender<()>,
}

pub fn print_queued(o: &Options, of_a_task: bool) -> bool {
    let runtime = Builder::new_multi_thread().worker_threads(o.workers).build().unwrap();
    let (signal, end) = sync_channel(1);
    let line: &'static Line =
        Box::leak(Box::new(Line { left: AtomicU64::new(o.size), sum: AtomicU64::new(0), signal }));
    let held = HeldWorkers::of(&runtime, o.workers);
    let (resident_before, heap_before) = (resident_bytes(), heap_bytes());
    for i in 1..=o.size {
        let (a, b, c) = (i, i, 2 * i);
        runtime.spawn(async move {
            line.sum.fetch_add(a + b + c, Ordering::Relaxed);
            if line.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                line.signal.send(()).unwrap();
            }
        });
    }
    let resident = resident_bytes();
    let heap = heap_bytes() - heap_before;
    held.release();
    end.recv().unwrap();
    let seen = (line.sum.load(Ordering::Relaxed), 2 * o.size * (o.size + 1));
    let tasks = o.size as f64;
    if of_a_task {
        let grown = (resident - resident_before) / tasks;
        return print_figure("memory-task", o, "bytes", grown, seen, &[("heap", heap / tasks)]);
    }
    print_figure("memory-queued", o, "MB", resident / 1e6, seen, &[])
}
