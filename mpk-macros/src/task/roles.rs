//! Judges roles and bodies: MPK-E0101, E0110 and E0111.

use proc_macro2::Span;

use super::model::{Role, RoleOption, Task};
use crate::errors::{Code, Errors, Problem, closest};

/// Threads of a group.
const GROUP: usize = 128;

/// Reports what is wrong; gives the groups of the consumer.
pub fn check(task: &Task, errors: &mut Errors) -> usize {
    let mut declared: Vec<Role> = Vec::new();
    let mut consumer = None;
    // A name that is reported makes no second error of what is then missing.
    let mut unknown = task.lost;
    for option in &task.options.roles {
        let name = option.name.to_string();
        let span = option.name.span();
        match Role::named(&name) {
            None => {
                unknown = true;
                let near = closest(&name, Role::ALL.iter().map(|role| role.name()));
                let problem = Problem::new(Code::E0111, format!("there is no role `{name}`"));
                errors.report(span, near.iter().fold(problem, |p, near| p.help(format!("did you mean `{near}`?"))));
            }
            Some(role) if declared.contains(&role) => {
                let problem = Problem::new(Code::E0111, format!("the role `{name}` is declared twice"));
                errors.report(span, problem.help("declare each role once"));
            }
            Some(role) => {
                declared.push(role);
                if role == Role::Consumer {
                    consumer = Some(groups(option, errors));
                } else {
                    not_the_author_s(role, span, errors);
                }
            }
        }
    }
    for body in &task.bodies {
        match body.role() {
            Some(Role::Consumer) if consumer.is_none() && !unknown => {
                let problem = Problem::new(Code::E0101, "the body of `consumer` has no declared role")
                    .gpu("no warp would run the body: whoever waits for it would wait for ever")
                    .help("declare it: `roles(consumer)`");
                errors.report(body.name.span(), problem);
            }
            Some(role) if role != Role::Consumer && !declared.contains(&role) => not_the_author_s(role, body.name.span(), errors),
            _ => {}
        }
    }
    if task.consumer().is_none() && !unknown {
        let (span, what, help) = match task.options.roles.iter().find(|option| option.name == Role::Consumer.name()) {
            Some(option) => (option.name.span(), "the role `consumer` of `", "add `consumer! { dep_wait(); … }`"),
            None => {
                (task.name.span(), "`", "declare `roles(consumer(groups = 2))` and give it a body: `consumer! { dep_wait(); … }`")
            }
        };
        let missing = if consumer.is_some() { "has no body" } else { "has no consumer" };
        errors.report(span, Problem::new(Code::E0101, format!("{what}{}` {missing}", task.name)).help(help));
    }
    consumer.unwrap_or(1)
}

/// The other roles are the runtime's, the same for all tasks.
fn not_the_author_s(role: Role, at: Span, errors: &mut Errors) {
    let name = role.name();
    let problem = Problem::new(Code::E0111, format!("the role `{name}` in a task: only its consumer runs"))
        .gpu("no warp would run the body: what it was to do would never be done, and whoever waits for it would wait for ever")
        .help(format!("do it in the consumer, and leave `{name}` out: loader, storer and controller are the runtime's"));
    errors.report(at, problem);
}

/// The groups of the consumer.
fn groups(option: &RoleOption, errors: &mut Errors) -> usize {
    let mut groups = 1;
    for (i, (key, value, span)) in option.values.iter().enumerate() {
        if option.values[..i].iter().any(|(other, ..)| other == key) {
            errors.syntax(key.span(), format!("`{key}` is given twice"));
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
                let problem = Problem::new(Code::E0110, format!("a consumer of {value} groups: there are 1 to 3"));
                errors.report(*span, problem.gpu(gpu));
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
                let help = match closest(other, ["groups", "threads"]) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write `consumer(groups = 2)`; registers and the like are shared out by the kernel".into(),
                };
                errors.syntax(key.span(), format!("a role has no `{other}`\nhelp: {help}"));
            }
        }
    }
    groups
}
