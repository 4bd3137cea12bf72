//! See workload.hpp.

use crate::finish_line::FinishLine;
use crate::rounds::{measure, print_samples, Options};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, Runtime};

const TASKS: u64 = 10_000;
const SAMPLES: usize = 500; // of a round
const REST: Duration = Duration::from_millis(1);

fn post(runtime: &Handle, line: &Arc<FinishLine>) {
    let line = line.clone();
    runtime.spawn(async move { line.cross() });
}

/// Threads that post when they are told to.
struct Producers {
    begin: Arc<Barrier>,
    line: Arc<Mutex<Option<Arc<FinishLine>>>>, // nothing: the threads are to end
    threads: Vec<JoinHandle<()>>,
}

impl Producers {
    fn of(runtime: &Runtime, count: u64) -> Producers {
        let begin = Arc::new(Barrier::new(count as usize + 1));
        let line = Arc::new(Mutex::new(None));
        let threads = (0..count)
            .map(|number| {
                let (runtime, begin, line) = (runtime.handle().clone(), begin.clone(), line.clone());
                std::thread::spawn(move || loop {
                    begin.wait();
                    let end: Option<Arc<FinishLine>> = line.lock().unwrap().clone();
                    let Some(end) = end else { return };
                    for _ in (number..TASKS).step_by(count as usize) {
                        post(&runtime, &end);
                    }
                })
            })
            .collect();
        Producers { begin, line, threads }
    }

    fn pass(&self) -> u64 {
        let (line, end) = FinishLine::of(TASKS);
        *self.line.lock().unwrap() = Some(line);
        self.begin.wait();
        end.recv().unwrap();
        TASKS
    }
}

impl Drop for Producers {
    fn drop(&mut self) {
        *self.line.lock().unwrap() = None;
        self.begin.wait();
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// Posts one task to a runtime that has nothing to do. Returns the time until the task begins, and the time
/// of the call, in us.
fn post_one(runtime: &Runtime, begun: &Arc<AtomicU64>) -> (f64, f64) {
    std::thread::sleep(REST);
    let begun = begun.clone();
    let (signal, end) = sync_channel(1);
    let posted = Instant::now();
    runtime.spawn(async move {
        let began = Instant::now();
        begun.fetch_add(1, Ordering::Relaxed);
        signal.send(began).unwrap();
    });
    let call = posted.elapsed();
    let wake = end.recv().unwrap() - posted;
    (wake.as_secs_f64() * 1e6, call.as_secs_f64() * 1e6)
}

fn print_rest(workload: &str, o: &Options, runtime: &Runtime) -> bool {
    let begun = Arc::new(AtomicU64::new(0));
    for _ in 0..SAMPLES / 5 {
        post_one(runtime, &begun);
    }
    begun.store(0, Ordering::Relaxed);
    let samples = o.rounds * SAMPLES;
    let told = |(wake, call): (f64, f64)| if workload == "outside-wake" { wake } else { call };
    let values = (0..samples).map(|_| told(post_one(runtime, &begun))).collect();
    print_samples(workload, o, values, (begun.load(Ordering::Relaxed), samples as u64), &[])
}

pub fn run(workload: &str, o: &Options, runtime: &Runtime) -> bool {
    match workload {
        "outside-wake" | "outside-waking" => print_rest(workload, o, runtime),
        "outside-call" => {
            let last: RefCell<Option<Receiver<()>>> = RefCell::default();
            let pass = || {
                let (line, end) = FinishLine::of(TASKS);
                for _ in 0..TASKS {
                    post(runtime.handle(), &line);
                }
                *last.borrow_mut() = Some(end);
                TASKS
            };
            measure(workload, o, TASKS, TASKS, pass, |posted| {
                last.take().unwrap().recv().unwrap();
                posted
            })
        }
        _ => {
            let producers = Producers::of(runtime, o.size);
            measure(workload, o, TASKS, TASKS, || producers.pass(), |seen| seen)
        }
    }
}
