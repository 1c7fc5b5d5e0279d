//! Names are fields of a C++ struct and locals of a Rust function, each once.

use proc_macro2::Ident;

use super::model::{ElemSpec, ParamType, PortKind, Task};
use crate::cpp;
use crate::errors::Errors;

/// Reports names that have a meaning already, or several.
pub fn check(task: &Task, errors: &mut Errors) {
    let regions: Vec<&Ident> = task.options.scratch.iter().map(|region| &region.name).collect();
    let ports: Vec<&Ident> = task.ports.iter().map(|port| &port.name).collect();
    let (symbols, vars) = (task.symbols(), variables(task));
    for name in ports.iter().copied().chain(&symbols).chain(regions.iter().copied()).chain(vars.iter().copied()) {
        let text = name.to_string();
        if text.starts_with("r#") || RESERVED.contains(&text.as_str()) || cpp::INSIDES.contains(&text.as_str()) {
            errors.syntax(name.span(), format!("`{text}` has a meaning in CUDA C++ or in every body\nhelp: choose another name"));
        }
    }
    for symbol in &symbols {
        if task.port(&symbol.to_string()).is_some_and(|p| p.kind != PortKind::Param(ParamType::U32)) {
            errors.syntax(
                symbol.span(),
                format!("`{symbol}` is a port and a symbol\nhelp: only a `Param<u32>` may stand in shapes"),
            );
        }
    }
    for var in vars {
        if ports.contains(&var) || symbols.contains(var) || regions.contains(&var) {
            let what = format!("`{var}` is an element type and something else\nhelp: choose another name for the type, like `W`");
            errors.syntax(var.span(), what);
        }
    }
    for (i, region) in regions.iter().enumerate() {
        if ports.contains(region) || symbols.contains(region) || regions[..i].contains(region) {
            errors.syntax(region.span(), format!("there is something else of the name `{region}`"));
        }
    }
}

/// The element variables, each once.
pub fn variables(task: &Task) -> Vec<&Ident> {
    let mut vars: Vec<&Ident> = Vec::new();
    for port in &task.ports {
        if let Some(ElemSpec::Var(var)) = &port.elem
            && !vars.contains(&var)
        {
            vars.push(var);
        }
    }
    vars
}

/// Words of C++ that are none of Rust, and names that every body has beside those of [`cpp::INSIDES`].
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "case", "catch", "char", "char8_t", "char16_t",
    "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const_cast", "consteval", "constexpr", "constinit",
    "decltype", "default", "delete", "do", "double", "dynamic_cast", "explicit", "export", "float", "friend", "goto", "inline", "int",
    "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected",
    "public", "register", "reinterpret_cast", "requires", "short", "signed", "sizeof", "static_assert", "static_cast", "switch",
    "template", "this", "thread_local", "throw", "typedef", "typeid", "typename", "union", "unsigned", "using", "void", "volatile",
    "wchar_t", "xor", "xor_eq",
    "In", "Out", "State", "Matrix", "Vector", "RowTable", "RopeTable", "TaskOffset", "bf16", "uint8_t", "uint32_t", "uint64_t",
    "Block", "task", "tiles", "run", "lane", "dep_wait", "role_thread", "role_threads", "role_warp", "role_warps",
    "role_sync", "groups_sync", "grid_barrier", "pad0", "pad1", "pad2",
];
