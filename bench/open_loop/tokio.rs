//! See workload.hpp.

use crate::cpu_time;
use crate::finish_line::FinishLine;
use crate::rounds::{print_samples, quantile, Options};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

const REQUESTS: usize = 4_000; // of a round
const BRIEF_US: f64 = 10.0;
const LENGTHY_US: f64 = 1000.0;
const LENGTHY: f64 = 0.1; // of all requests
const MEAN_US: f64 = (1.0 - LENGTHY) * BRIEF_US + LENGTHY * LENGTHY_US;
const PR_SET_TIMERSLACK: i32 = 29;

extern "C" {
    fn prctl(option: i32, ns: u64) -> i32;
}

/// SplitMix64: numbers in [0, 1).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Request {
    at: Duration, // from the beginning
    service_us: f64,
}

fn schedule_of(o: &Options, count: usize) -> Vec<Request> {
    let mut draw = Draw(1);
    let mean_gap_us = MEAN_US / (o.workers as f64 * o.size as f64 / 100.0);
    let mut at_us = 1000.0;
    let mut request = || {
        let at = Duration::from_nanos((at_us * 1000.0) as u64);
        let service_us = if draw.next() < LENGTHY { LENGTHY_US } else { BRIEF_US };
        at_us -= (1.0 - draw.next()).ln() * mean_gap_us;
        Request { at, service_us }
    };
    (0..count).map(|_| request()).collect()
}

/// Returns the response time of each request, in us.
fn responses_of(runtime: &Runtime, requests: &[Request], slowed: f64) -> Vec<f64> {
    let (line, end) = FinishLine::of(requests.len() as u64);
    let took_ns: Arc<Vec<AtomicU64>> = Arc::new(requests.iter().map(|_| AtomicU64::new(0)).collect());
    let began = Instant::now();
    for (i, r) in requests.iter().enumerate() {
        let due = began + r.at;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let (line, took_ns, service_ns) = (line.clone(), took_ns.clone(), (r.service_us * slowed * 1000.0) as i64);
        runtime.spawn(async move {
            cpu_time::work(service_ns);
            took_ns[i].store(due.elapsed().as_nanos() as u64, Ordering::Relaxed);
            line.cross();
        });
    }
    end.recv().unwrap();
    took_ns.iter().map(|ns| ns.load(Ordering::Relaxed) as f64 / 1e3).collect()
}

pub fn print(o: &Options) -> bool {
    // SAFETY: it sets a number of the calling thread, which the threads that it begins inherit.
    unsafe { prctl(PR_SET_TIMERSLACK, 1) };
    let runtime = &Builder::new_multi_thread().worker_threads(o.workers).build().unwrap();
    responses_of(runtime, &schedule_of(o, REQUESTS), o.slowed);
    let schedule = schedule_of(o, o.rounds * REQUESTS);
    let responses = responses_of(runtime, &schedule, o.slowed);
    let mut slowdowns: Vec<f64> = responses.iter().zip(&schedule).map(|(us, r)| us / r.service_us).collect();
    slowdowns.sort_by(f64::total_cmp);
    let more = [
        ("slowdown p50", quantile(&slowdowns, 0.5)),
        ("slowdown p99", quantile(&slowdowns, 0.99)),
        ("slowdown p99.9", quantile(&slowdowns, 0.999)),
    ];
    let seen = responses.iter().filter(|us| **us > 0.0).count() as u64;
    print_samples(&format!("open_loop-{}", o.size), o, responses, (seen, schedule.len() as u64), &more)
}
