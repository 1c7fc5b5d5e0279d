//! A task as a C++ struct: its ports as members, its body as `run`.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::CodegenError;
use crate::cuda::variants::{elem_vars, groups};
use crate::graph::NodeArg;
use crate::plan::{Plan, strip_parts};
use crate::shape::{Elem, ElemSpec, Expr, ParamType, Port, PortKind};
use crate::task::{FieldKind, Region, RoleKind, TaskDef};

/// Writes the namespace of `task`, which the ops `ops` of the plan use.
pub(super) fn write(text: &mut String, plan: &Plan, task: &TaskDef, ops: &[usize]) -> Result<(), CodegenError> {
    let body = task
        .bodies
        .iter()
        .find(|body| body.role == RoleKind::Consumer && !body.text.trim().is_empty())
        .ok_or_else(|| CodegenError::NoBody(task.name.into()))?;
    let members = Members::of(plan, task, ops)?;

    let _ = write!(text, "namespace {} {{\n{}", task.name, task.block.cpp);
    let vars = elem_vars(task);
    if !vars.is_empty() {
        let vars: Vec<String> = vars.iter().map(|var| format!("class {var}")).collect();
        let _ = writeln!(text, "template <{}>", vars.join(", "));
    }
    let _ = writeln!(text, "struct Body : Consumer<{}> {{", groups(task));
    for member in &members.declared {
        let _ = writeln!(text, "    {member}");
    }
    text.push_str("    MPK_DEVICE Body(Worker& worker, const Packet& packet)\n        : Body(worker, packet, *packet.at<Block>(packet.block)) {}\n");
    text.push_str(
        "    MPK_DEVICE Body(Worker& worker, const Packet& packet, const Block& block)\n        : Consumer(worker, packet)",
    );
    for init in &members.inits {
        let _ = write!(text, ",\n          {init}");
    }
    let _ = write!(text, " {{}}\n    MPK_DEVICE void run() {{\n#line {} \"{}\"\n{}", body.line, body.file, body.text);
    if !body.text.ends_with('\n') {
        text.push('\n');
    }
    // Macros are of no namespace: the next task would have them too.
    for name in body.defines {
        let _ = writeln!(text, "#undef {name}");
    }
    let line = text.lines().count() + 2;
    let _ = write!(text, "#line {line} \"mpk.cu\"\n    }}\n}};\n}}  // namespace {}\n", task.name);
    Ok(())
}

/// The members of a task's struct and their initialisers, in the same order.
struct Members<'a> {
    plan: &'a Plan,
    task: &'a TaskDef,
    ops: &'a [usize],
    declared: Vec<String>,
    inits: Vec<String>,
}

impl<'a> Members<'a> {
    fn of(plan: &'a Plan, task: &'a TaskDef, ops: &'a [usize]) -> Result<Members<'a>, CodegenError> {
        let mut members = Members { plan, task, ops, declared: Vec::new(), inits: Vec::new() };
        // Symbols first: the ports are made with them.
        for field in task.block.fields.iter().filter(|f| matches!(f.kind, FieldKind::Dim | FieldKind::U32)) {
            members.symbol(field.name);
        }
        for field in task.block.fields.iter().filter(|f| f.kind == FieldKind::F32) {
            members.member(format!("const float {}", field.name), format!("{0}(block.{0})", field.name));
        }
        let (mut routes, mut streams) = (0, 0);
        for (index, port) in task.signature.ports.iter().enumerate() {
            members.port(index, port, &mut routes, &mut streams)?;
        }
        for region in task.scratch {
            members.scratch(region)?;
        }
        Ok(members)
    }

    fn member(&mut self, declared: String, init: String) {
        self.declared.push(format!("{declared};"));
        self.inits.push(init);
    }

    /// A symbol is a constant of the code where all ops of the plan agree on it; `T` is the live rows of the step.
    fn symbol(&mut self, name: &str) {
        match (name, self.uniform(name)) {
            ("T", _) => self.member("const uint32_t T".into(), "T(shared().record.count)".into()),
            (_, Some(value)) => self.declared.push(format!("static constexpr uint32_t {name} = {value};")),
            _ => self.member(format!("const uint32_t {name}"), format!("{name}(block.{name})")),
        }
    }

    /// The value of a symbol or `u32` parameter, if it is the same in all ops.
    fn uniform(&self, name: &str) -> Option<usize> {
        let values: BTreeSet<Option<usize>> = self.ops.iter().map(|op| symbol(self.plan, *op, name)).collect();
        if values.len() == 1 { values.first().copied().flatten() } else { None }
    }

    fn port(&mut self, index: usize, port: &Port, routes: &mut usize, streams: &mut usize) -> Result<(), CodegenError> {
        let name = port.name;
        match port.kind {
            // The base by its name: a port may be called like a function of it.
            PortKind::In => {
                let features = self.dim(port, 1)?;
                let init = format!("{name}(block.{name}, Consumer::route({routes}), {index}, {features}, worker.epoch)");
                self.member(format!("const In<{}> {name}", elem(port.elem)), init);
                *routes += 1;
            }
            PortKind::Out => {
                let features = self.dim(port, 1)?;
                let init =
                    format!("{name}(block.{name}, Consumer::route({routes}), {features}, worker.epoch, worker.params.peers)");
                self.member(format!("const Out<{}> {name}", elem(port.elem)), init);
                *routes += 1;
            }
            PortKind::Weight => match port.shape.len() {
                1 => self.member(format!("const Vector {name}"), format!("{name}(block.{name})")),
                2 => {
                    let (rows, cols) = (self.dim(port, 0)?, self.dim(port, 1)?);
                    let (segment, first) = if self.task.streams.contains(&name) {
                        *streams += 1;
                        let width = expr(&self.task.signature.tiles.width);
                        let parts = strip_parts(&self.task.signature, port);
                        (format!("Consumer::segment({})", *streams - 1), format!("packet.first_tile * {width} * {parts}"))
                    } else {
                        ("nullptr".into(), "0".into())
                    };
                    let init = format!("{name}(block.{name}, {rows}, {cols}, worker.ring, {segment}, {first})");
                    self.member(format!("const Matrix {name}"), init);
                }
                n => return Err(self.unknown(port, format!("is a weight of {n} dimensions"))),
            },
            PortKind::State { .. } => {
                if port.shape.len() != 4 {
                    return Err(self.unknown(port, format!("is a state of {} dimensions", port.shape.len())));
                }
                let dims: Vec<String> = port.shape.iter().map(expr).collect();
                self.member(
                    format!("const State<{}> {name}", elem(port.elem)),
                    format!("{name}(block.{name}, {})", dims.join(", ")),
                );
            }
            PortKind::Rows => self.member(format!("const RowTable {name}"), format!("{name}(block.{name})")),
            PortKind::Param(ParamType::Rope) => {
                let width = self.rope_width(index, port)?;
                self.member(format!("const RopeTable {name}"), format!("{name}(block.{name}, {width})"));
            }
            // Among the symbols and fields already.
            PortKind::Param(_) => {}
            PortKind::TaskOffset => {
                self.member(format!("const TaskOffset {name}"), format!("{name}{{blockIdx.x, gridDim.x}}"));
            }
        }
        Ok(())
    }

    fn scratch(&mut self, region: &Region) -> Result<(), CodegenError> {
        let full = format!("{}.{}", self.task.name, region.name);
        let place = self.plan.shared.iter().find(|shared| shared.name == full).ok_or(CodegenError::Region(full))?;
        let elem = cpp_elem(region.elem);
        let init = format!("{}(*reinterpret_cast<{elem} (*)[{}]>(shared_memory + {}))", region.name, region.len, place.offset);
        self.member(format!("{elem} (&{})[{}]", region.name, region.len), init);
        Ok(())
    }

    fn dim(&self, port: &Port, index: usize) -> Result<String, CodegenError> {
        let missing = || self.unknown(port, format!("has no dimension {index}"));
        port.shape.get(index).map(expr).ok_or_else(missing)
    }

    /// The width of the table, the same for all ops.
    fn rope_width(&self, index: usize, port: &Port) -> Result<usize, CodegenError> {
        let widths: BTreeSet<Option<usize>> = self
            .ops
            .iter()
            .map(|op| match &self.plan.graph.ops[*op].args[index] {
                NodeArg::Rope(rope) => Some(rope.head_dim),
                _ => None,
            })
            .collect();
        match widths.first() {
            Some(Some(width)) if widths.len() == 1 => Ok(*width),
            _ => Err(self.unknown(port, "has ropes of several widths".into())),
        }
    }

    fn unknown(&self, port: &Port, what: String) -> CodegenError {
        CodegenError::Port { task: self.task.name.into(), port: port.name.into(), what }
    }
}

/// The value of a symbol in an op; none for the rows of a step, which change.
fn symbol(plan: &Plan, op: usize, name: &str) -> Option<usize> {
    let node = &plan.graph.ops[op];
    let parameter = node.task.signature.ports.iter().zip(&node.args).find(|(port, _)| port.name == name);
    match (name, parameter) {
        ("T", _) => None,
        (_, Some((_, NodeArg::U32(value)))) => Some(*value as usize),
        // `P` is the positions of the cache only where the op does not bind it.
        ("P", _) => node.dim(name).or(Some(plan.pages * crate::step::PAGE_POSITIONS)),
        _ => node.dim(name),
    }
}

/// An element type of a port; a variable is a parameter of the template.
fn elem(spec: ElemSpec) -> &'static str {
    match spec {
        ElemSpec::Is(elem) => cpp_elem(elem),
        ElemSpec::Var(var) => var,
    }
}

/// The C++ name of an element type.
pub(super) fn cpp_elem(elem: Elem) -> &'static str {
    match elem {
        Elem::Bf16 => "bf16",
        Elem::F32 => "float",
        Elem::U32 => "uint32_t",
        Elem::U64 => "uint64_t",
    }
}

/// An expression over the symbols, in C++.
fn expr(e: &Expr) -> String {
    match e {
        Expr::Num(n) => format!("{n}u"),
        Expr::Sym(name) => (*name).to_string(),
        Expr::Add(a, b) => format!("({} + {})", expr(a), expr(b)),
        Expr::Mul(a, b) => format!("({} * {})", expr(a), expr(b)),
        Expr::Div(a, b) => format!("({} / {})", expr(a), expr(b)),
        Expr::DivCeil(a, b) => format!("ceil_div({}, {})", expr(a), expr(b)),
    }
}
