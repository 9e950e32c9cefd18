//! The memory that each thread has allocated and not freed, for interpreters that run inside this
//! process and have no limit of their own.
//!
//! A binary that wants the figures makes [`CountingAllocator`] its global allocator; without it they
//! stay 0. Memory that another thread frees stays counted for the thread that allocated it, so a
//! figure is meaningful as the difference of two moments of one thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Constant and without a destructor: reading it allocates nothing, also while a thread ends.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Returns the bytes that the current thread has allocated, without those that it has freed.
pub fn held() -> isize {
    HELD.get()
}

/// The allocator of the system, which counts.
pub struct CountingAllocator;

fn count(bytes: usize, freed: usize) {
    // Sizes of allocations are at most `isize::MAX`.
    HELD.set(HELD.get().wrapping_add_unsigned(bytes).wrapping_sub_unsigned(freed));
}

// SAFETY: every call is passed on to the allocator of the system with the same arguments; counting
// neither allocates nor panics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static COUNTING: CountingAllocator = CountingAllocator;

    #[test]
    fn memory_is_counted_for_its_thread_until_it_is_freed() {
        const BYTES: usize = 1 << 20;
        let before = held();
        let mut value: Vec<u8> = Vec::with_capacity(BYTES);
        assert_eq!(held() - before, BYTES.cast_signed());
        value.reserve_exact(2 * BYTES);
        assert_eq!(held() - before, (2 * BYTES).cast_signed());
        let elsewhere = std::thread::spawn(|| vec![0_u8; BYTES].len());
        assert_eq!(elsewhere.join().unwrap(), BYTES);
        drop(value);
        assert!(held() - before < BYTES.cast_signed(), "{}", held() - before);
    }
}
