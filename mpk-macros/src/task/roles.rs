//! Judges roles and bodies: MPK-E0101, E0110 and E0111.

use super::model::{Role, RoleOption, Task};
use crate::errors::{Code, Errors, Problem, closest};

/// Threads of a group.
const GROUP: usize = 128;

/// Reports what is wrong; gives each role once, with its groups.
pub fn check(task: &Task, errors: &mut Errors) -> Vec<(Role, usize)> {
    let mut roles: Vec<(Role, usize)> = Vec::new();
    let mut unknown = false;
    for option in &task.options.roles {
        let name = option.name.to_string();
        let Some(role) = Role::named(&name) else {
            unknown = true;
            let problem = Problem::new(Code::E0111, format!("there is no role `{name}`"));
            let near = closest(&name, Role::ALL.iter().map(|role| role.name()));
            errors.report(
                option.name.span(),
                match near {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None => problem,
                },
            );
            continue;
        };
        if roles.iter().any(|(other, _)| *other == role) {
            let problem =
                Problem::new(Code::E0111, format!("the role `{name}` is declared twice")).help("declare each role once");
            errors.report(option.name.span(), problem);
            continue;
        }
        roles.push((role, groups(role, option, errors)));
    }
    bodies(task, &roles, unknown, errors);
    roles
}

/// The groups of a role.
fn groups(role: Role, option: &RoleOption, errors: &mut Errors) -> usize {
    let mut groups = 1;
    for (key, value, span) in &option.values {
        if role != Role::Consumer {
            let what = format!("`{}({key} = {value})`: loader, storer and controller share one warpgroup", role.name());
            errors.report(*span, Problem::new(Code::E0111, what).help(format!("write `{}`", role.name())));
            continue;
        }
        match (key.to_string().as_str(), *value) {
            ("groups", 1..=3) => groups = *value,
            ("threads", GROUP) => {}
            ("groups", _) => {
                let gpu = match value {
                    0 => "no thread would compute, and the task's trigger never come",
                    _ => "the block would want more registers than an SM has: the launch would fail",
                };
                errors
                    .report(*span, Problem::new(Code::E0110, format!("a consumer of {value} groups: there are 1 to 3")).gpu(gpu));
            }
            ("threads", _) => {
                let problem = Problem::new(Code::E0110, format!("a consumer group of {value} threads: a group is {GROUP}"));
                let fits = value % GROUP == 0 && (1..=3).contains(&(value / GROUP));
                errors.report(
                    *span,
                    if fits { problem.help(format!("write `consumer(groups = {})`", value / GROUP)) } else { problem },
                );
            }
            (other, _) => {
                let near = closest(other, ["groups", "threads"]).unwrap_or("groups");
                errors.syntax(key.span(), format!("a role has no `{other}`\nhelp: did you mean `{near}`?"));
            }
        }
    }
    groups
}

/// Roles and bodies go together.
fn bodies(task: &Task, roles: &[(Role, usize)], unknown: bool, errors: &mut Errors) {
    let has_body = |role: Role| task.bodies.iter().any(|body| body.role() == Some(role));
    let declared = |role: Role| roles.iter().any(|(other, _)| *other == role);
    // A role with a misspelt name is reported already.
    if !declared(Role::Consumer) && !has_body(Role::Consumer) && !unknown {
        let problem = Problem::new(Code::E0101, format!("`{}` has no consumer", task.name))
            .help("declare `roles(consumer(groups = 2))` and give it a body: `consumer! { dep_wait(); … }`");
        errors.report(task.name.span(), problem);
    }
    for (role, _) in roles.iter().filter(|(role, _)| !has_body(*role)) {
        let Some(option) = task.options.roles.iter().find(|option| option.name == role.name()) else { continue };
        let problem = Problem::new(Code::E0101, format!("the role `{}` of `{}` has no body", role.name(), task.name));
        let help = match role {
            Role::Consumer => "add `consumer! { dep_wait(); … }`".to_string(),
            _ => format!("add `{}! {{ … }}`, or leave the role out", role.name()),
        };
        errors.report(option.name.span(), problem.help(help));
    }
    for body in &task.bodies {
        if body.role().is_some_and(|role| !declared(role) && !unknown) {
            let problem = Problem::new(Code::E0101, format!("the body of `{}` has no declared role", body.name))
                .gpu("no warp would run the body: whoever waits for it would wait for ever")
                .help(format!("declare it: `roles(…, {})`", body.name));
            errors.report(body.name.span(), problem);
        }
    }
}
