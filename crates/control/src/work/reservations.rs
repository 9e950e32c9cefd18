//! Reservations of rows: rows this process is working on, and rows it sets aside for a while.
//!
//! Two loops of one process must not race for the same row, and a row that cannot be handled must
//! not block the rows behind it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

/// The largest number of rows set aside; beyond it, the one that returns first is released.
const SET_ASIDE_MAX: usize = 200;

/// The time a row is set aside if it can be handled only after a change.
pub(crate) const ASIDE: Duration = Duration::from_secs(10);

/// The rows that this process must not take.
#[derive(Debug)]
pub(crate) struct RowReservations<K> {
    rows: Mutex<BTreeMap<K, RowHold>>,
}

#[derive(Debug, Clone, Copy)]
enum RowHold {
    InUse,
    Until(Instant),
}

impl<K: Ord + Copy> RowReservations<K> {
    pub(crate) fn new() -> Self {
        Self { rows: Mutex::new(BTreeMap::new()) }
    }

    /// Returns the number of reserved rows, which a query has to request in addition.
    pub(crate) fn held(&self) -> usize {
        let now = Instant::now();
        let mut rows = self.rows();
        rows.retain(|_, hold| match hold {
            RowHold::InUse => true,
            RowHold::Until(instant) => *instant > now,
        });
        rows.len()
    }

    /// Reserves a row unless it is reserved or set aside.
    pub(crate) fn take(&self, row: K) -> Option<RowReservation<'_, K>> {
        let now = Instant::now();
        let mut rows = self.rows();
        let free = match rows.get(&row) {
            None => true,
            Some(RowHold::InUse) => false,
            Some(RowHold::Until(instant)) => *instant <= now,
        };
        free.then(|| {
            rows.insert(row, RowHold::InUse);
            RowReservation { reserve: self, row }
        })
    }

    /// Releases every row that was set aside.
    pub(crate) fn clear_aside(&self) {
        self.rows().retain(|_, hold| match hold {
            RowHold::InUse => true,
            RowHold::Until(_) => false,
        });
    }

    fn set_aside(&self, row: K, duration: Duration) {
        let mut rows = self.rows();
        rows.insert(row, RowHold::Until(Instant::now() + duration));
        if rows.len() > SET_ASIDE_MAX {
            let aside = rows.iter().filter_map(|(row, hold)| match hold {
                RowHold::InUse => None,
                RowHold::Until(instant) => Some((*instant, *row)),
            });
            if let Some((_, earliest)) = aside.min() {
                rows.remove(&earliest);
            }
        }
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<K, RowHold>> {
        self.rows.lock().expect("nothing panics while it holds the rows")
    }
}

/// The reservation of a row within this process, released when dropped.
#[derive(Debug)]
pub(crate) struct RowReservation<'a, K: Ord + Copy> {
    reserve: &'a RowReservations<K>,
    row: K,
}

impl<K: Ord + Copy> RowReservation<'_, K> {
    /// Sets the row aside, so that others come first for `duration`.
    pub(crate) fn set_aside(self, duration: Duration) {
        self.reserve.set_aside(self.row, duration);
    }
}

impl<K: Ord + Copy> Drop for RowReservation<'_, K> {
    fn drop(&mut self) {
        let mut rows = self.reserve.rows();
        match rows.get(&self.row) {
            Some(RowHold::InUse) => {
                rows.remove(&self.row);
            }
            Some(RowHold::Until(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_row_in_hand_is_not_taken_twice() {
        let reserve = RowReservations::new();
        let in_hand = reserve.take(1);
        assert!(in_hand.is_some());
        assert!(reserve.take(1).is_none());
        assert_eq!(reserve.held(), 1);
        drop(in_hand);
        assert!(reserve.take(1).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_row_set_aside_comes_back_after_a_while() {
        let reserve = RowReservations::new();
        reserve.take(1).unwrap().set_aside(Duration::from_secs(2));
        assert!(reserve.take(1).is_none());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(reserve.held(), 0);
        assert!(reserve.take(1).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_rows_set_aside_are_bounded() {
        let reserve = RowReservations::new();
        for row in 0..=SET_ASIDE_MAX {
            reserve.take(row).unwrap().set_aside(Duration::from_secs(60));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(reserve.held(), SET_ASIDE_MAX);
        assert!(reserve.take(0).is_some(), "the earliest to return makes room");
        assert!(reserve.take(1).is_none());
    }
}
