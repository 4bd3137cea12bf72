use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;

/// What all tasks of a pass count down; the last one signals.
pub struct FinishLine {
    left: AtomicU64,
    signal: SyncSender<()>,
}

impl FinishLine {
    /// The line, and where its signal comes.
    pub fn of(tasks: u64) -> (Arc<FinishLine>, Receiver<()>) {
        assert_ne!(tasks, 0); // nobody would cross
        let (signal, end) = sync_channel(1);
        (Arc::new(FinishLine { left: AtomicU64::new(tasks), signal }), end)
    }

    pub fn cross(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.signal.send(()).unwrap();
        }
    }
}
