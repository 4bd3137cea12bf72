//! See workload.hpp.

use crate::finish_line::FinishLine;
use tokio::runtime::Runtime;

pub fn pass(runtime: &Runtime, tasks: u64) -> u64 {
    let (line, end) = FinishLine::of(tasks);
    runtime.spawn(async move {
        for _ in 0..tasks {
            let line = line.clone();
            tokio::spawn(async move { line.cross() });
        }
    });
    end.recv().unwrap();
    tasks
}
