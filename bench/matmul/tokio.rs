//! See workload.hpp.

use crate::Answer;
use tokio::runtime::Runtime;

const BLOCK: usize = 32;

pub fn blocks(n: u64) -> u64 {
    let side = std::cmp::max(1, n / BLOCK as u64);
    side * side * side
}

/// A square part of a matrix.
#[derive(Clone, Copy)]
struct Part {
    at: *mut u32,
    stride: usize,
}

impl Part {
    fn quarter(self, i: usize, j: usize, half: usize) -> Part {
        // SAFETY: the quarter is within the matrix.
        Part { at: unsafe { self.at.add(i * half * self.stride + j * half) }, stride: self.stride }
    }
}

/// c += a b, where each part has `rows` rows.
#[derive(Clone, Copy)]
pub struct Product {
    rows: usize,
    a: Part,
    b: Part,
    c: Part,
}

// SAFETY: products that run at the same time write to different quarters.
unsafe impl Send for Product {}

impl Product {
    fn multiply(self) {
        for i in 0..self.rows {
            for k in 0..self.rows {
                // SAFETY: these are rows of three different matrices.
                let (into, factor, from) = unsafe {
                    (
                        std::slice::from_raw_parts_mut(self.c.at.add(i * self.c.stride), self.rows),
                        *self.a.at.add(i * self.a.stride + k),
                        std::slice::from_raw_parts(self.b.at.add(k * self.b.stride), self.rows),
                    )
                };
                for (to, x) in into.iter_mut().zip(from) {
                    *to = to.wrapping_add(factor.wrapping_mul(*x));
                }
            }
        }
    }

    fn quarter(self, which: usize, phase: usize) -> Product {
        let half = self.rows / 2;
        let (i, j) = (which / 2, which % 2);
        Product {
            rows: half,
            a: self.a.quarter(i, phase, half),
            b: self.b.quarter(phase, j, half),
            c: self.c.quarter(i, j, half),
        }
    }
}

fn forked(p: Product) -> Answer<()> {
    Box::pin(async move {
        if p.rows <= BLOCK {
            return p.multiply();
        }
        for phase in 0..2 {
            let children = [1, 2, 3].map(|i| tokio::spawn(forked(p.quarter(i, phase))));
            forked(p.quarter(0, phase)).await;
            for child in children {
                child.await.unwrap();
            }
        }
    })
}

pub fn pass(runtime: &Runtime, whole: Product) -> u64 {
    runtime.block_on(async { tokio::spawn(forked(whole)).await.unwrap() });
    0
}

/// Two matrices and their product.
pub struct Matrices {
    rows: usize,
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<u32>,
}

impl Matrices {
    pub fn new(n: u64) -> Matrices {
        let rows = n as usize;
        let mut x = 1u32;
        let mut numbers = || {
            x = x.wrapping_mul(1664525).wrapping_add(1013904223);
            x
        };
        let a = (0..rows * rows).map(|_| numbers()).collect();
        let b = (0..rows * rows).map(|_| numbers()).collect();
        Matrices { rows, a, b, c: vec![0; rows * rows] }
    }

    pub fn whole(&mut self) -> Product {
        let part = |m: &mut Vec<u32>| Part { at: m.as_mut_ptr(), stride: self.rows };
        Product { rows: self.rows, a: part(&mut self.a), b: part(&mut self.b), c: part(&mut self.c) }
    }

    /// Counts the rows of the product that are right, by their products with a vector (Freivalds). Makes the
    /// product 0 again.
    pub fn take_right_rows(&mut self) -> u64 {
        let v: Vec<u32> = (0..self.rows as u32).map(|i| i.wrapping_mul(i).wrapping_add(7)).collect();
        let expected = self.times(&self.a, &self.times(&self.b, &v));
        let seen = self.times(&self.c, &v);
        self.c.fill(0);
        expected.iter().zip(&seen).filter(|(e, s)| e == s).count() as u64
    }

    fn times(&self, m: &[u32], v: &[u32]) -> Vec<u32> {
        m.chunks(self.rows)
            .map(|row| row.iter().zip(v).fold(0u32, |sum, (x, y)| sum.wrapping_add(x.wrapping_mul(*y))))
            .collect()
    }
}
