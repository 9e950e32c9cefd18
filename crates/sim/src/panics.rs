//! Detection of panics in spawned tasks, which are not joined and would be missed.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// The first panic of this thread, which runs one world at a time.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs the hook that records panics of this thread.
pub(crate) fn notice() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANIC.with_borrow_mut(|first| {
                first.get_or_insert_with(|| panic.to_string());
            });
            others(panic);
        }));
    });
    PANIC.set(None);
}

/// Returns the first recorded panic.
pub(crate) fn noticed() -> Option<String> {
    PANIC.take()
}
