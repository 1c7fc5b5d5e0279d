//! Who joins at a barrier, and what is wrong if some of them do not: MPK-E0112.

use crate::errors::{Code, Problem};

/// Whom a barrier waits for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Team {
    /// Every thread of a group, or of the task.
    #[default]
    Threads,
    /// Every lane of a warp.
    Lanes,
}

impl Team {
    /// What joins them.
    pub const fn barriers(self) -> &'static [&'static str] {
        match self {
            Team::Threads => &["groups_sync", "role_sync", "grid_barrier"],
            Team::Lanes => {
                &["lane_sum", "lane_max", "__syncwarp", "__shfl_sync", "__shfl_xor_sync", "__shfl_up_sync", "__shfl_down_sync"]
            }
        }
    }

    /// The problem with the barrier `name`, which depends on `why`.
    pub fn problem(self, name: &str, why: &str) -> Problem {
        let (all, same) = match self {
            Team::Threads => ("threads", "`T`, `task`, parameters and pages are"),
            Team::Lanes => ("lanes", "`role_warp()` is"),
        };
        let what = format!("not all {all} come by `{name}()` alike: that depends on `{why}`");
        Problem::new(Code::E0112, what).gpu(format!("it would wait for {all} that never come: a deadlock")).help(format!(
            "let all {all} come by it, with the branch, loop or jump around the work alone; {same} the same for all of them"
        ))
    }
}
