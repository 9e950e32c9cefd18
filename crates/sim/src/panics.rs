//! Panics of spawned tasks, which nobody waits for and which would go unseen.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// The first panic of this thread, where one world lives at a time.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From here on, panics of this thread are remembered.
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

/// The first panic since then.
pub(crate) fn noticed() -> Option<String> {
    PANIC.take()
}
