//! See workload.hpp.

use crate::finish_line::FinishLine;
use crate::rounds::{print_samples, Options};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const TURNS: u32 = 1_000;
const PASSES: usize = 20; // of a round

/// The waits that all tasks of a pass report.
#[derive(Default)]
struct Waits {
    longest_ns: AtomicU64,
    taken: AtomicU64, // turns
}

async fn take_turns(all: Arc<Waits>) {
    let mut longest = Duration::ZERO;
    let mut last = Instant::now();
    for _ in 1..TURNS {
        tokio::task::yield_now().await;
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    all.longest_ns.fetch_max(longest.as_nanos() as u64, Ordering::Relaxed);
    all.taken.fetch_add(u64::from(TURNS), Ordering::Relaxed);
}

fn pass(runtime: &Runtime, tasks: u64, taken: &mut u64) -> f64 {
    let (line, end) = FinishLine::of(tasks);
    let all = Arc::new(Waits::default());
    for _ in 0..tasks {
        let (line, all) = (line.clone(), all.clone());
        runtime.spawn(async move {
            take_turns(all).await;
            line.cross();
        });
    }
    end.recv().unwrap();
    *taken += all.taken.load(Ordering::Relaxed);
    all.longest_ns.load(Ordering::Relaxed) as f64 / 1e3
}

pub fn print(o: &Options, runtime: &Runtime) -> bool {
    let mut taken = 0;
    for _ in 0..PASSES {
        pass(runtime, o.size, &mut taken);
    }
    taken = 0;
    let passes = o.rounds * PASSES;
    let longest = (0..passes).map(|_| pass(runtime, o.size, &mut taken)).collect();
    print_samples("fairness", o, longest, (taken, o.size * u64::from(TURNS) * passes as u64), &[])
}
