use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;

/// All tasks of a pass count it down; the last one signals.
pub struct FinishLine {
    left: AtomicU64,
    signal: SyncSender<()>,
}

impl FinishLine {
    /// Returns the line, and the receiver of its signal.
    pub fn of(tasks: u64) -> (Arc<FinishLine>, Receiver<()>) {
        assert_ne!(tasks, 0); // no task would cross
        let (signal, end) = sync_channel(1);
        (Arc::new(FinishLine { left: AtomicU64::new(tasks), signal }), end)
    }

    pub fn cross(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.signal.send(()).unwrap();
        }
    }
}
