//! See workload.hpp.

use crate::Answer;

pub fn result(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

pub fn calls(n: u64) -> u64 {
    2 * result(n + 1) - 1
}

pub fn forked(n: u64) -> Answer<u64> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let a = tokio::spawn(forked(n - 1));
        let b = forked(n - 2).await;
        a.await.unwrap() + b
    })
}
