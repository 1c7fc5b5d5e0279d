//! A call whose panic becomes a message.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in a call whose panic is caught; such calls may nest.
    static CATCHES: Cell<bool> = const { Cell::new(false) };
    /// Where the last such panic was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What `call` gives, or the message and the place of its panic, of which nothing is printed.
pub fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // The hook is the process's: panics elsewhere go to the one that was there before.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| match CATCHES.get() {
            true => PLACE.set(panic.location().map_or(String::new(), |at| format!(", at {}:{}", at.file(), at.line()))),
            false => before(panic),
        }));
    });
    let around = CATCHES.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    CATCHES.set(around);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        format!("{}{}", text.unwrap_or("it panicked"), PLACE.take())
    })
}
