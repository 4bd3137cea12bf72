//! The contender Tokio, for all workloads in which it takes part. The code of each lies in the folder of its
//! workload.
//!
//!     tokio_contender WORKLOAD [--workers N] [--rounds N] [--size N] [--slowed FACTOR] [--spoiled yes]

#[path = "../../axes/tokio.rs"]
mod axes;
#[path = "../../blocking_mix/tokio.rs"]
mod blocking_mix;
#[path = "../../channel/tokio.rs"]
mod channel;
mod cpu_time;
#[path = "../../fairness/tokio.rs"]
mod fairness;
#[path = "../../fib/tokio.rs"]
mod fib;
mod finish_line;
mod held_workers;
#[path = "../../idle/tokio.rs"]
mod idle;
#[path = "../../matmul/tokio.rs"]
mod matmul;
#[path = "../../memory/tokio.rs"]
mod memory;
mod memory_use;
#[path = "../../nqueens/tokio.rs"]
mod nqueens;
#[path = "../../open_loop/tokio.rs"]
mod open_loop;
#[path = "../../outside/tokio.rs"]
mod outside;
mod rounds;
#[path = "../../skynet/tokio.rs"]
mod skynet;
#[path = "../../spawn_many_local/tokio.rs"]
mod spawn_many_local;
#[path = "../../spawn_many_remote_busy/tokio.rs"]
mod spawn_many_remote_busy;

use rounds::{measure, Options};
use std::future::Future;
use std::pin::Pin;
use tokio::runtime::Builder;

/// The result of an async function that calls itself.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs a workload that makes its runtimes itself. Returns nothing if it is none of these.
fn run_with_its_own(workload: &str, o: &Options) -> Option<bool> {
    Some(match workload {
        "memory-worker" => memory::print_worker(o),
        "memory-at-rest" => memory::print_use_at_rest(o),
        "memory-task" => memory::print_queued(o, true),
        "memory-queued" => memory::print_queued(o, false),
        _ if workload.starts_with("idle-") => idle::print(o),
        _ if workload.starts_with("open_loop-") => open_loop::print(o),
        _ => return None,
    })
}

fn run(workload: &str, o: &Options) -> Option<bool> {
    let runtime = &Builder::new_multi_thread().worker_threads(o.workers).build().unwrap();
    let tree = |ops, right, pass: &dyn Fn() -> Answer<u64>| {
        measure(workload, o, ops, right, || runtime.block_on(async { tokio::spawn(pass()).await.unwrap() }), |sum| sum)
    };
    Some(match workload {
        "fib" => tree(fib::calls(o.size), fib::result(o.size), &|| fib::forked(o.size)),
        "skynet" => {
            let leaves = skynet::leaves_of(o.size);
            tree(leaves, skynet::result(leaves), &|| skynet::forked(0, leaves))
        }
        "nqueens" => {
            let found = nqueens::search(o.size);
            tree(found.boards, found.solutions, &|| nqueens::forked(nqueens::Board::default(), o.size))
        }
        "matmul" => {
            let mut m = matmul::Matrices::new(o.size);
            let whole = m.whole();
            measure(workload, o, matmul::blocks(o.size), o.size, || matmul::pass(runtime, whole), |_| m.take_right_rows())
        }
        "spawn_many_local" => {
            measure(workload, o, o.size, o.size, || spawn_many_local::pass(runtime, o.size), |seen| seen)
        }
        "spawn_many_remote_busy1" => {
            let _keepers = spawn_many_remote_busy::KeepingBusy::of(runtime, o.workers);
            measure(workload, o, o.size, o.size, || spawn_many_remote_busy::pass(runtime, o.size), |seen| seen)
        }
        "blocking_mix" => measure(workload, o, o.size, o.size, || blocking_mix::pass(runtime, o.size), |seen| seen),
        "fairness" => fairness::print(o, runtime),
        _ if workload.starts_with("channel-") => {
            let room = channel::room_of(workload)?;
            measure(workload, o, o.size, channel::result(o.size), || channel::pass(runtime, room, o.size), |sum| sum)
        }
        _ if workload.starts_with("outside-") => outside::run(workload, o, runtime),
        _ => {
            let (ops, pass) = axes::axis(workload)?;
            measure(workload, o, ops, ops, || pass(runtime), |seen| seen)
        }
    })
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let answer = words
        .get(1)
        .zip(Options::of(words.get(2..).unwrap_or(&[])))
        .and_then(|(workload, options)| run_with_its_own(workload, &options).or_else(|| run(workload, &options)));
    std::process::exit(match answer {
        Some(true) => 0,
        Some(false) => 1,
        None => {
            eprintln!("usage: tokio_contender WORKLOAD [--workers N] [--rounds N] [--size N] [--slowed FACTOR] [--spoiled yes]");
            2
        }
    });
}
