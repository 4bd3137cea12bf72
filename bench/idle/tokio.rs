//! See workload.hpp.

use crate::cpu_time;
use crate::held_workers::HeldWorkers;
use crate::rounds::{print_figure, Options};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const REST: Duration = Duration::from_millis(1000);
const ROUND: Duration = Duration::from_millis(400);
const RUSAGE_SELF: i32 = 0;
const RUSAGE_THREAD: i32 = 1;

extern "C" {
    fn getrusage(whose: i32, usage: *mut [i64; 18]) -> i32;
}

fn switches_of(whose: i32) -> i64 {
    let mut usage = [0; 18];
    // SAFETY: 64-bit Linux lays the structure out so: two times and 14 numbers, of which these are the last.
    unsafe { getrusage(whose, &mut usage) };
    usage[16] + usage[17]
}

/// Returns the CPU time in ns, and the context switches, of all threads but this one.
fn spent() -> (i64, i64) {
    let switches = switches_of(RUSAGE_SELF) - switches_of(RUSAGE_THREAD);
    (cpu_time::of_the_process_ns() - cpu_time::of_this_thread_ns(), switches)
}

pub fn print(o: &Options) -> bool {
    let runtime = Builder::new_multi_thread().worker_threads(o.workers).build().unwrap();
    let begun = HeldWorkers::of(&runtime, o.workers).release().len() as u64;
    std::thread::sleep(REST);
    let began = Instant::now();
    let before = spent();
    std::thread::sleep(ROUND * o.rounds as u32);
    let after = spent();
    let took = began.elapsed().as_secs_f64();
    let us = (after.0 - before.0).max(0) as f64 / 1e3 / took;
    let switches = (after.1 - before.1) as f64 / took;
    print_figure(&format!("idle-{}", o.workers), o, "us/s", us, (begun, o.workers as u64), &[("switches a second", switches)])
}
