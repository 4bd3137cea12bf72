//! See workload.hpp. Tokio's channel has one receiver.

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

pub fn result(size: u64) -> u64 {
    size * (size - 1) / 2
}

/// The room that a workload's name says, `channel-1to1-ROOM`.
pub fn room_of(workload: &str) -> Option<usize> {
    workload.strip_prefix("channel-1to1-")?.parse().ok()
}

pub fn pass(runtime: &Runtime, room: usize, size: u64) -> u64 {
    let (sender, mut receiver) = mpsc::channel::<u64>(room);
    let sum = runtime.spawn(async move {
        let mut sum = 0;
        while let Some(value) = receiver.recv().await {
            sum += value;
        }
        sum
    });
    runtime.spawn(async move {
        for value in 0..size {
            sender.send(value).await.unwrap();
        }
    });
    runtime.block_on(sum).unwrap()
}
