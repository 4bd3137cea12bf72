//! See workload.hpp.

use crate::Answer;

#[derive(Clone, Copy, Default)]
pub struct Board {
    column: [u8; 16],
    rows: u8,
}

impl Board {
    fn is_free(&self, place: u64) -> bool {
        (0..self.rows).all(|row| {
            let apart = place as i32 - i32::from(self.column[row as usize]);
            apart != 0 && apart.abs() != i32::from(self.rows - row)
        })
    }

    fn with(&self, place: u64) -> Board {
        let mut next = *self;
        next.column[next.rows as usize] = place as u8;
        next.rows += 1;
        next
    }

    fn each_next(self, n: u64) -> impl Iterator<Item = Board> {
        (0..n).filter(move |&place| self.is_free(place)).map(move |place| self.with(place))
    }
}

#[derive(Default)]
pub struct Found {
    pub boards: u64,
    pub solutions: u64,
}

fn look(b: Board, n: u64, all: &mut Found) {
    all.boards += 1;
    if u64::from(b.rows) == n {
        all.solutions += 1;
    } else {
        b.each_next(n).for_each(|next| look(next, n, all));
    }
}

pub fn search(n: u64) -> Found {
    let mut all = Found::default();
    look(Board::default(), n, &mut all);
    all
}

pub fn forked(b: Board, n: u64) -> Answer<u64> {
    Box::pin(async move {
        if u64::from(b.rows) == n {
            return 1;
        }
        let children: Vec<_> = b.each_next(n).map(|next| tokio::spawn(forked(next, n))).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}
