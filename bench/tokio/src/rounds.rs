//! The options, the measuring and the line of JSON of every contender, as in C++ in bench/contender.hpp.

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
    seen: u64, // the right result, or the first result that is wrong
}

/// Repeats the pass until it has taken this time. Checks its results outside of that time.
fn round(options: &Options, ops: u64, right: u64, at_least: Duration, pass: &mut dyn FnMut() -> u64,
         checked: &mut dyn FnMut(u64) -> u64) -> Round {
    let mut took = Duration::ZERO;
    let mut all = Round { ns_per_op: 0.0, ops: 0, seen: right };
    while took < at_least {
        let began = Instant::now();
        let answer = pass();
        if options.slowed > 1.0 {
            let until = began.elapsed().mul_f64(options.slowed);
            while began.elapsed() < until {}
        }
        took += began.elapsed();
        let seen = checked(answer) + u64::from(options.spoiled);
        if all.seen == right {
            all.seen = seen;
        }
        all.ops += ops;
    }
    all.ns_per_op = took.as_nanos() as f64 / all.ops as f64;
    all
}

/// Prints the line of the process, with these figures and others beside them. Returns whether the result is
/// right. For a wrong result it prints no line.
fn print_line(workload: &str, o: &Options, unit: &str, figures: &[(&str, f64)], more: &[(&str, f64)], ops: u64,
              (seen, right): (u64, u64)) -> bool {
    if seen != right {
        eprintln!("{}, tokio: a wrong result; it is {}, right is {}", workload, seen, right);
        return false;
    }
    let members = |of: &[(&str, f64)]| {
        let members: Vec<String> = of.iter().map(|(name, value)| format!("\"{}\": {:.3}", name, value)).collect();
        members.join(", ")
    };
    let columns = if more.is_empty() { String::new() } else { format!(", \"columns\": {{{}}}", members(more)) };
    println!(
        "{{\"workload\": \"{}\", \"contender\": \"tokio\", \"profile\": \"\", \"workers\": {}, \"size\": {}, \
         \"unit\": \"{}\", \"kind\": \"coroutine\", {}{}, \"rounds\": {}, \"ops\": {}, \"checksum\": {}}}",
        workload, o.workers, o.size, unit, members(figures), columns, o.rounds, ops, seen
    );
    true
}

/// Returns the nearest of the values, which must be sorted.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted[(part * (sorted.len() - 1) as f64).round() as usize]
}

/// Prints one figure, which a process has once.
pub fn print_figure(workload: &str, o: &Options, unit: &str, value: f64, (seen, right): (u64, u64), more: &[(&str, f64)])
                    -> bool {
    let figures = [("median", value), ("p10", value), ("p90", value)];
    print_line(workload, o, unit, &figures, more, 1, (seen + u64::from(o.spoiled), right))
}

/// Prints quantiles of single samples, in us.
pub fn print_samples(workload: &str, o: &Options, mut values: Vec<f64>, (seen, right): (u64, u64), more: &[(&str, f64)])
                     -> bool {
    values.sort_by(f64::total_cmp);
    let figures = [("median", 0.5), ("p10", 0.1), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];
    let figures = figures.map(|(name, part)| (name, quantile(&values, part)));
    print_line(workload, o, "us", &figures, more, values.len() as u64, (seen + u64::from(o.spoiled), right))
}

/// Measures, and prints the line. Returns whether every result was right.
pub fn measure(workload: &str, options: &Options, ops: u64, right: u64, mut pass: impl FnMut() -> u64,
               mut checked: impl FnMut(u64) -> u64) -> bool {
    let mut seen = round(options, ops, right, WARM_UP, &mut pass, &mut checked).seen;
    let mut done = 0;
    let mut times = Vec::new();
    for _ in 0..options.rounds {
        let r = round(options, ops, right, ROUND, &mut pass, &mut checked);
        if seen == right {
            seen = r.seen;
        }
        done += r.ops;
        times.push(r.ns_per_op);
    }
    times.sort_by(f64::total_cmp);
    let figures = [("median", 0.5), ("p10", 0.1), ("p90", 0.9)].map(|(name, part)| (name, quantile(&times, part)));
    print_line(workload, options, "ns/op", &figures, &[], done, (seen, right))
}
