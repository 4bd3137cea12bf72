//! See workload.hpp.

use crate::Answer;

const CHILDREN: u64 = 10;

pub fn leaves_of(depth: u64) -> u64 {
    CHILDREN.pow(depth as u32)
}

pub fn result(leaves: u64) -> u64 {
    leaves * (leaves - 1) / 2
}

pub fn forked(first: u64, leaves: u64) -> Answer<u64> {
    Box::pin(async move {
        if leaves == 1 {
            return first;
        }
        let part = leaves / CHILDREN;
        let mut children = Vec::with_capacity(CHILDREN as usize);
        for i in 0..CHILDREN - 1 {
            children.push(tokio::spawn(forked(first + i * part, part)));
        }
        let mut sum = forked(first + (CHILDREN - 1) * part, part).await;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}
