//! The contender Tokio, for all workloads in which it takes part. Each is in the folder of its workload.
//!
//!     tokio_contender WORKLOAD [--workers N] [--rounds N] [--size N] [--slowed FACTOR] [--spoiled yes]

#[path = "../../axes/tokio.rs"]
mod axes;
#[path = "../../blocking_mix/tokio.rs"]
mod blocking_mix;
#[path = "../../fib/tokio.rs"]
mod fib;
#[path = "../../matmul/tokio.rs"]
mod matmul;
#[path = "../../nqueens/tokio.rs"]
mod nqueens;
mod rounds;
#[path = "../../skynet/tokio.rs"]
mod skynet;
#[path = "../../spawn_many_local/tokio.rs"]
mod spawn_many_local;

use rounds::{measure, Options};
use std::future::Future;
use std::pin::Pin;
use tokio::runtime::{Builder, Runtime};

/// What an async function that calls itself answers.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn run(workload: &str, o: &Options, runtime: &Runtime) -> Option<bool> {
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
        "blocking_mix" => measure(workload, o, o.size, o.size, || blocking_mix::pass(runtime, o.size), |seen| seen),
        _ => {
            let (ops, pass) = axes::axis(workload)?;
            measure(workload, o, ops, ops, || pass(runtime), |seen| seen)
        }
    })
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let answer = words.get(1).zip(Options::of(words.get(2..).unwrap_or(&[]))).and_then(|(workload, options)| {
        let runtime = Builder::new_multi_thread().worker_threads(options.workers).build().unwrap();
        run(workload, &options, &runtime)
    });
    std::process::exit(match answer {
        Some(true) => 0,
        Some(false) => 1,
        None => {
            eprintln!("usage: tokio_contender WORKLOAD [--workers N] [--rounds N] [--size N] [--slowed FACTOR] [--spoiled yes]");
            2
        }
    });
}
