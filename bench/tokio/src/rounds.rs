//! The options, the measuring and the line of JSON of every contender, as bench/contender.hpp has them in C++.

use std::time::{Duration, Instant};

const WARM_UP: Duration = Duration::from_millis(300);
const ROUND: Duration = Duration::from_millis(50);

pub struct Options {
    pub workers: usize,
    pub rounds: usize,
    pub size: u64,
    pub slowed: f64,
    pub spoiled: bool,
}

impl Options {
    /// Reads `--workers N` and so on, each with a value.
    pub fn of(words: &[String]) -> Option<Options> {
        let mut options = Options { workers: 2, rounds: 5, size: 0, slowed: 1.0, spoiled: false };
        for pair in words.chunks(2) {
            let value = pair.get(1)?;
            match pair[0].as_str() {
                "--workers" => options.workers = value.parse().ok()?,
                "--rounds" => options.rounds = value.parse().ok()?,
                "--size" => options.size = value.parse().ok()?,
                "--slowed" => options.slowed = value.parse().ok()?,
                "--spoiled" => options.spoiled = value == "yes",
                _ => return None,
            }
        }
        Some(options).filter(|o| o.workers > 0 && o.rounds > 0 && o.slowed >= 1.0)
    }
}

struct Round {
    ns_per_op: f64,
    ops: u64,
    last: u64,
    right: bool,
}

/// Repeats the pass until it has taken this time. What it answers is checked outside of the time.
fn round(options: &Options, ops: u64, right: u64, at_least: Duration, pass: &mut dyn FnMut() -> u64,
         checked: &mut dyn FnMut(u64) -> u64) -> Round {
    let mut took = Duration::ZERO;
    let mut all = Round { ns_per_op: 0.0, ops: 0, last: 0, right: true };
    while took < at_least {
        let began = Instant::now();
        let answer = pass();
        if options.slowed > 1.0 {
            let until = began.elapsed().mul_f64(options.slowed);
            while began.elapsed() < until {}
        }
        took += began.elapsed();
        all.last = checked(answer) + u64::from(options.spoiled);
        all.right &= all.last == right;
        all.ops += ops;
    }
    all.ns_per_op = took.as_nanos() as f64 / all.ops as f64;
    all
}

/// Prints the line with one figure, which a process has once, and others beside it; answers whether what was seen is right.
pub fn print_figure(workload: &str, options: &Options, unit: &str, value: f64, (seen, right): (u64, u64),
                    more: &[(&str, f64)]) -> bool {
    let seen = seen + u64::from(options.spoiled);
    if seen != right {
        eprintln!("{}, tokio: a wrong result; the last is {}, right is {}", workload, seen, right);
        return false;
    }
    let more: Vec<String> = more.iter().map(|(name, value)| format!("\"{}\": {:.3}", name, value)).collect();
    println!(
        "{{\"workload\": \"{}\", \"contender\": \"tokio\", \"profile\": \"\", \"workers\": {}, \"size\": {}, \
         \"unit\": \"{}\", \"kind\": \"coroutine\", \"median\": {v:.3}, \"p10\": {v:.3}, \"p90\": {v:.3}, \
         \"columns\": {{{}}}, \"rounds\": {}, \"ops\": 1, \"checksum\": {}}}",
        workload, options.workers, options.size, unit, more.join(", "), options.rounds, seen, v = value
    );
    true
}

/// Measures, prints the line, and answers whether every result was right.
pub fn measure(workload: &str, options: &Options, ops: u64, right: u64, mut pass: impl FnMut() -> u64,
               mut checked: impl FnMut(u64) -> u64) -> bool {
    let mut all_right = round(options, ops, right, WARM_UP, &mut pass, &mut checked).right;
    let mut times = Vec::new();
    let (mut last, mut done) = (0, 0);
    for _ in 0..options.rounds {
        let r = round(options, ops, right, ROUND, &mut pass, &mut checked);
        all_right &= r.right;
        last = r.last;
        done += r.ops;
        times.push(r.ns_per_op);
    }
    if !all_right {
        eprintln!("{}, tokio: a wrong result; the last is {}, right is {}", workload, last, right);
        return false;
    }
    times.sort_by(f64::total_cmp);
    let quantile = |part: f64| times[(part * (times.len() - 1) as f64).round() as usize];
    println!(
        "{{\"workload\": \"{}\", \"contender\": \"tokio\", \"profile\": \"\", \"workers\": {}, \"size\": {}, \
         \"unit\": \"ns/op\", \"kind\": \"coroutine\", \"median\": {:.3}, \"p10\": {:.3}, \"p90\": {:.3}, \
         \"rounds\": {}, \"ops\": {}, \"checksum\": {}}}",
        workload, options.workers, options.size, quantile(0.5), quantile(0.1), quantile(0.9), options.rounds, done, last
    );
    true
}
