//! The constants of a plan, as `mpk/config.cuh`.

use std::fmt::Write;

use super::CodegenError;
use crate::cuda::packet::PacketLayout;
use crate::cuda::variants::{Variants, groups};
use crate::plan::{Plan, Shared};
use crate::step::PAGE_POSITIONS;

/// Registers of a thread of the loader, storer and controller warps.
const SERVICE_REGISTERS: u32 = 56;
/// Registers of a multiprocessor.
const REGISTERS: u32 = 65_536;
/// Packets that are brought into shared memory ahead of the consumers, if they fit.
const MOST_PACKETS: usize = 4;
/// Bytes of the words that the roles share beside the packets: barriers of up to 12 stages, and the rows of the step.
const SHARED_WORDS: usize = 640;

/// How a kernel is launched: one block on each multiprocessor, cooperatively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks of a rank.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Consumer groups of a block.
    pub groups: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

/// Registers of a consumer thread: the block has what it was launched with, which is as much as the launch bounds allow, and what
/// the service warps give back is shared out. More than that would be waited for in vain. The unit is 8.
fn consumer_registers(groups: u32) -> u32 {
    let threads = (groups + 1) * 128;
    let launched = (REGISTERS / threads / 8 * 8).min(248);
    ((launched * threads - SERVICE_REGISTERS * 128) / (groups * 128) / 8 * 8).min(240)
}

/// The launch and the text of the header.
pub(super) fn config(plan: &Plan, variants: &Variants, packets: &PacketLayout) -> Result<(Launch, String), CodegenError> {
    let all = variants.tasks.iter().map(|task| groups(task)).max().unwrap_or(1);
    if let Some(task) = variants.tasks.iter().find(|task| !task.streams.is_empty() && groups(task) < all) {
        return Err(CodegenError::Groups { task: task.name.into(), groups: groups(task), all });
    }
    let region = |name: &str| plan.shared.iter().find(|region| region.name == name);
    let needed = |name: &str| region(name).ok_or_else(|| CodegenError::Region(name.into()));
    let (ring, barriers) = (needed("ring")?, needed("barriers")?);
    // A plan without streams stages nothing.
    let nothing = Shared { name: String::new(), offset: 0, bytes: 0, align: 16, task: None };
    let staged = region("activations").unwrap_or(&nothing);
    let warps = all as usize * 4;
    let threads = (all + 1) * 128;
    let consumer_registers = consumer_registers(all);
    let ahead = (barriers.bytes.saturating_sub(SHARED_WORDS) / packets.bytes.max(1)).clamp(1, MOST_PACKETS);
    let slot_pages = plan.options.context.div_ceil(PAGE_POSITIONS);

    let constants: &[(&str, usize)] = &[
        ("GROUPS", all as usize),
        ("WARPS", warps),
        ("THREADS", threads as usize),
        ("CONSUMER_REGISTERS", consumer_registers as usize),
        ("SERVICE_REGISTERS", SERVICE_REGISTERS as usize),
        ("RANKS", plan.ranks),
        ("MAX_STEP_ROWS", plan.options.rows),
        ("UNIT_BYTES", 512),
        ("PAGE_BYTES", plan.ring.page_bytes),
        ("STAGES", plan.ring.stages),
        ("IN_FLIGHT", plan.ring.in_flight),
        ("WARP_UNITS", (plan.ring.page_bytes / 512).div_ceil(warps)),
        ("RING_AT", ring.offset),
        ("BARRIERS_AT", barriers.offset),
        ("BARRIERS_BYTES", barriers.bytes),
        ("STAGED_AT", staged.offset),
        ("WARP_STAGED", staged.bytes / warps / 16 * 16),
        ("PACKETS", ahead),
        ("PACKET_BYTES", packets.bytes),
        ("SLOTS", plan.options.slots),
        ("SLOT_PAGES", slot_pages),
        ("PAGE_POSITIONS", PAGE_POSITIONS),
        ("POSITIONS", plan.options.context),
    ];
    let mut text = String::from("// Constants of one plan.\n#pragma once\n\nnamespace mpk {\n\n");
    for (name, value) in constants {
        let _ = writeln!(text, "constexpr uint32_t {name} = {value};");
    }
    text.push_str("\n}  // namespace mpk\n");
    let shared = plan.shared.iter().map(|region| region.offset + region.bytes).max().unwrap_or(0);
    Ok((Launch { blocks: plan.options.workers as u32, threads, groups: all, shared: shared as u32 }, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_together_have_what_the_block_was_launched_with() {
        for (groups, launched) in [(1, 248), (2, 168), (3, 128)] {
            let used = groups * 128 * consumer_registers(groups) + 128 * SERVICE_REGISTERS;
            assert!(used <= launched * (groups + 1) * 128, "{groups} groups");
        }
        assert_eq!(consumer_registers(2), 224);
    }
}
