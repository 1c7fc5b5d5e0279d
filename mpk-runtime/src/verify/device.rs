//! MPK-P0206: all workers can be resident at once.

use super::violation::{Code, Violation};
use crate::plan::Plan;

/// Checks a plan against a device with `sms` multiprocessors and `shared_memory` bytes of shared memory for a block.
///
/// # Errors
/// The plan has more workers than the device has multiprocessors, or a worker needs more shared memory than one has.
pub fn resident(plan: &Plan, sms: usize, shared_memory: usize) -> Result<(), Violation> {
    let violation = |text: String| Err(Violation { code: Code::P0206, text, op: None, queue: None });
    let workers = plan.options.workers;
    if workers > sms {
        return violation(format!(
            "the plan has {workers} workers, the device has {sms} multiprocessors\non the GPU the last workers would never start, and the others wait for them for ever\nhelp: plan for {sms} workers"
        ));
    }
    let bytes = plan.shared.iter().map(|r| r.offset.saturating_add(r.bytes)).max().unwrap_or(0);
    if bytes > shared_memory {
        return violation(format!(
            "a worker needs {bytes} bytes of shared memory, a block of the device has {shared_memory}\nthe kernel could not be launched\nhelp: plan for `shared_memory` of {shared_memory} bytes"
        ));
    }
    Ok(())
}
