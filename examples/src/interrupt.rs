//! Ctrl-C.

use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mpk_runtime::engine::Cancel;

/// What a shell reports of a program that Ctrl-C ended.
pub const INTERRUPTED: u8 = 130;

/// What Ctrl-C does: before a generation it ends the program, which holds nothing half-done then; in one it ends the
/// generation before its next token, and if it comes again the program.
pub struct Interrupt {
    cancel: Cancel,
    generating: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over Ctrl-C.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn install() -> Result<Interrupt, ctrlc::Error> {
        let (cancel, generating) = (Cancel::default(), Arc::new(AtomicBool::new(false)));
        let (handle, active) = (cancel.clone(), generating.clone());
        ctrlc::set_handler(move || {
            if !active.load(Ordering::Relaxed) || handle.is_set() {
                exit(i32::from(INTERRUPTED));
            }
            handle.cancel();
        })?;
        Ok(Interrupt { cancel, generating })
    }

    /// From now on Ctrl-C sets this handle.
    pub fn begin(&self) -> Cancel {
        self.generating.store(true, Ordering::Relaxed);
        self.cancel.clone()
    }

    /// Whether the generation was interrupted.
    pub fn came(&self) -> bool {
        self.cancel.is_set()
    }
}
