//! The bar that shows how far a long load has come.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is over sooner than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on stderr, with bytes and rate. It appears only if the work takes over a second and stderr is a terminal,
/// and disappears when dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Whether anyone could see the bar.
    seen: bool,
    shown: bool,
}

impl Progress {
    /// Starts the clock. `label` stands before the bar, for example `rounding weights`.
    pub fn new(label: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let template = "{msg} [{wide_bar}] {bytes} of {total_bytes}, {bytes_per_sec}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(label.to_owned());
        Self { bar, started: Instant::now(), seen: std::io::stderr().is_terminal(), shown: false }
    }

    /// Says that `done` of `total` bytes are dealt with.
    pub fn update(&mut self, done: u64, total: u64) {
        self.bar.set_length(total);
        if !self.shown && is_due(self.started.elapsed(), self.seen) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn is_due(elapsed: Duration, seen: bool) -> bool {
    seen && elapsed > PATIENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_and_unseen_work_show_nothing() {
        assert!(!is_due(Duration::from_millis(900), true));
        assert!(is_due(Duration::from_millis(1100), true));
        assert!(!is_due(Duration::from_secs(60), false));
    }
}
