//! See workload.hpp. A task that sleeps says so by `block_in_place`.

use crate::cpu_time;
use crate::finish_line::FinishLine;
use std::time::Duration;
use tokio::runtime::Runtime;

const SLEEPS_EVERY: u64 = 20;
const CPU_NS: i64 = 50_000;
const SLEEP: Duration = Duration::from_millis(5);

pub fn pass(runtime: &Runtime, tasks: u64) -> u64 {
    let (line, end) = FinishLine::of(tasks);
    for i in 0..tasks {
        let line = line.clone();
        runtime.spawn(async move {
            cpu_time::work(CPU_NS);
            if i % SLEEPS_EVERY == 0 {
                tokio::task::block_in_place(|| std::thread::sleep(SLEEP));
            }
            line.cross();
        });
    }
    end.recv().unwrap();
    tasks
}
