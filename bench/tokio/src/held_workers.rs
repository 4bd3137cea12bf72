use crate::memory_use::stack_of_this_thread;
use std::sync::{Arc, Barrier, Mutex};
use tokio::runtime::Runtime;

/// Keeps each worker from its work until it is released.
pub struct HeldWorkers {
    release: Arc<Barrier>,
    left: Arc<Barrier>,
    stacks: Vec<(usize, usize)>,
}

impl HeldWorkers {
    pub fn of(runtime: &Runtime, workers: usize) -> HeldWorkers {
        let [begun, release, left] = [(); 3].map(|()| Arc::new(Barrier::new(workers + 1)));
        let stacks = Arc::new(Mutex::new(Vec::new()));
        for _ in 0..workers {
            let (begun, release, left, stacks) = (begun.clone(), release.clone(), left.clone(), stacks.clone());
            runtime.spawn(async move {
                stacks.lock().unwrap().push(stack_of_this_thread());
                begun.wait();
                release.wait();
                left.wait();
            });
        }
        begun.wait();
        let stacks = stacks.lock().unwrap().clone();
        HeldWorkers { release, left, stacks }
    }

    pub fn release(self) -> Vec<(usize, usize)> {
        self.release.wait();
        self.left.wait();
        self.stacks
    }
}
