//! The geometry of tiles: which rows and features of each port a run of tiles owns.
//!
//! This is its only home: the planner cuts by it, the verifier proves by it, and both executors address by it.

use std::ops::Range;

use super::{Options, PlanError};
use crate::graph::{Graph, Node, NodeArg, OpId};
use crate::shape::{Expr, Port, PortKind, Signature};
use crate::step::PAGE_POSITIONS;

/// Rows of a strip: what one page holds of a weight, and the granularity of a streamed run.
pub const STRIP_ROWS: usize = 16;

/// How an op is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Tiles in all.
    pub count: usize,
    axis: usize,
    width: usize,
    /// Parallel to the ports of the signature.
    ports: Vec<Extent>,
}

/// The extent of a port, and the direction in which the tiles cut it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    rows: usize,
    features: usize,
    cut: Cut,
    /// Parts of a weight whose strips take turns.
    parts: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cut {
    /// Every run of tiles has all of it.
    #[default]
    None,
    Rows,
    Features,
}

impl Tiles {
    /// The tiles of an op of `graph` in a plan with these options and `pages` pages of the KV cache.
    ///
    /// A grid-wide task has one tile per worker, whatever its signature says.
    ///
    /// # Errors
    /// [`PlanError::Size`] if a number can't be known, is zero or too large; [`PlanError::Graph`] if the arguments of the op
    /// do not belong to its signature.
    pub fn of(graph: &Graph, op: OpId, options: &Options, pages: usize) -> Result<Tiles, PlanError> {
        let node = node_of(graph, op)?;
        let sig = &node.task.signature;
        if node.args.len() != sig.ports.len() {
            return Err(bad_graph(node, "it has another number of arguments than its task has ports"));
        }
        let symbols = symbols(graph, op, options, pages)?;
        let (axis, width) = if node.task.grid {
            (options.workers, 1)
        } else {
            (number(node, "its tiles", &sig.tiles.axis, &symbols)?, number(node, "its tile width", &sig.tiles.width, &symbols)?)
        };
        if axis == 0 || width == 0 {
            return Err(size_error(node, "its tiles", "there are none", "check the dimensions of the config"));
        }
        let rows_cut = sig.ports.iter().any(|p| p.kind == PortKind::Out && is_rows(p.shape, &sig.tiles.axis));
        let mut ports = Vec::with_capacity(sig.ports.len());
        for (port, arg) in sig.ports.iter().zip(&node.args) {
            ports.push(match arg {
                NodeArg::In(t) | NodeArg::Out(t) => {
                    let tensor = graph.tensors.get(*t).ok_or_else(|| bad_graph(node, "it names a tensor that is not there"))?;
                    let rows = tensor.rows.checked_mul(options.rows).ok_or_else(|| too_large(node, port.name))?;
                    let features = sum(&tensor.parts).ok_or_else(|| too_large(node, port.name))?;
                    let cut = match arg {
                        NodeArg::In(_) => Cut::None,
                        _ if is_rows(port.shape, &sig.tiles.axis) => Cut::Rows,
                        _ => Cut::Features,
                    };
                    Extent { rows, features, cut, parts: 1 }
                }
                NodeArg::Weight(w) => {
                    let weight = graph.weights.get(*w).ok_or_else(|| bad_graph(node, "it names a weight that is not there"))?;
                    let (rows, features) = matrix(&weight.shape()).ok_or_else(|| too_large(node, port.name))?;
                    // Tiles over the rows of the step take all outputs each.
                    Extent { rows, features, cut: if rows_cut { Cut::None } else { Cut::Rows }, parts: strip_parts(sig, port) }
                }
                _ => Extent::default(),
            });
        }
        Ok(Tiles { count: axis.div_ceil(width), axis, width, ports })
    }

    /// The rows of port `port` that the tiles `run` own: rows of the step for activations, outputs for a weight.
    /// An `In` is read whole by every run. Empty for ports that are no arrays.
    pub fn rows(&self, port: usize, run: Range<usize>) -> Range<usize> {
        let extent = self.extent(port);
        if extent.cut == Cut::Rows { self.share(extent.rows, run) } else { 0..extent.rows }
    }

    /// The features of port `port` that the tiles `run` own; all of them for an `In` and for a weight.
    pub fn features(&self, port: usize, run: Range<usize>) -> Range<usize> {
        let extent = self.extent(port);
        if extent.cut == Cut::Features { self.share(extent.features, run) } else { 0..extent.features }
    }

    /// The strips of 16 rows of the weight at `port` that the tiles `run` read.
    pub fn strips(&self, port: usize, run: Range<usize>) -> Range<usize> {
        let parts = self.extent(port).parts.max(1);
        if parts > 1 {
            let strip = |tile: usize| (tile * self.width).min(self.axis).div_ceil(STRIP_ROWS) * parts;
            return strip(run.start)..strip(run.end);
        }
        let rows = self.rows(port, run);
        rows.start / STRIP_ROWS..rows.end.div_ceil(STRIP_ROWS)
    }

    /// Rows of the weight at `port` where a tile may end, if tiles don't end at whole strips.
    pub(super) fn ragged(&self, port: usize) -> Option<usize> {
        let extent = self.extent(port);
        if extent.cut != Cut::Rows || self.count == 1 {
            return None;
        }
        if extent.parts > 1 {
            return (!self.width.is_multiple_of(STRIP_ROWS)).then_some(self.width);
        }
        let rows = extent.rows as u128 * self.width as u128;
        let whole = rows.is_multiple_of(self.axis as u128) && (rows / self.axis as u128).is_multiple_of(STRIP_ROWS as u128);
        (!whole).then_some((rows / self.axis as u128) as usize)
    }

    fn extent(&self, port: usize) -> Extent {
        self.ports.get(port).copied().unwrap_or_default()
    }

    /// The part of `extent` that belongs to `run`: the same share as `run` has of the axis.
    fn share(&self, extent: usize, run: Range<usize>) -> Range<usize> {
        let at = |tile: usize| {
            let place = (tile as u128 * self.width as u128).min(self.axis as u128);
            // At most `extent`, since place <= axis.
            (place * extent as u128 / self.axis as u128) as usize
        };
        at(run.start)..at(run.end)
    }
}

/// Parts of a streamed weight whose strips take turns: where its rows are `n` times the axis that the tiles cut, as in
/// `[2 * I, K]` for tiles over `I`, a tile has rows of every part.
pub fn strip_parts(sig: &Signature, port: &Port) -> usize {
    match (port.shape.first(), &sig.tiles.axis) {
        (Some(Expr::Mul(Expr::Num(n), Expr::Sym(symbol))), Expr::Sym(axis)) if symbol == axis && port.shape.len() == 2 => {
            usize::try_from(*n).unwrap_or(1)
        }
        _ => 1,
    }
}

/// The values of all symbols of an op on one rank: those of the graph, `T` (rows of the step) and `P` (positions of the cache).
///
/// # Errors
/// [`PlanError::Size`] if a number is too large, [`PlanError::Graph`] if there is no such op.
pub fn symbols(graph: &Graph, op: OpId, options: &Options, pages: usize) -> Result<Vec<(&'static str, usize)>, PlanError> {
    let node = node_of(graph, op)?;
    let mut symbols = node.dims.clone();
    // Whatever else is bound to the rows of an input is a multiple of the rows of the step.
    for (port, arg) in node.task.signature.ports.iter().zip(&node.args) {
        if let (NodeArg::In(t), Some(Expr::Sym(name))) = (arg, port.shape.first())
            && node.dim(name).is_none()
            && let Some(tensor) = graph.tensors.get(*t)
        {
            let rows = tensor.rows.checked_mul(options.rows).ok_or_else(|| too_large(node, port.name))?;
            symbols.push((name, rows));
        }
    }
    let positions = pages.checked_mul(PAGE_POSITIONS).ok_or_else(|| too_large(node, "the KV cache"))?;
    for (name, value) in [("T", options.rows), ("P", positions)] {
        if !symbols.iter().any(|(n, _)| *n == name) {
            symbols.push((name, value));
        }
    }
    Ok(symbols)
}

/// The value of an expression, or why it has none.
///
/// # Errors
/// A symbol without a value, a division that is not exact or by zero, a number that is negative or beyond 63 bits.
pub fn eval(expr: &Expr, symbols: &[(&'static str, usize)]) -> Result<usize, &'static str> {
    usize::try_from(signed(expr, symbols)?).map_err(|_| "it is negative")
}

fn signed(expr: &Expr, symbols: &[(&'static str, usize)]) -> Result<i64, &'static str> {
    const LARGE: &str = "it is too large";
    match expr {
        Expr::Num(n) => Ok(*n),
        Expr::Sym(name) => {
            let value = symbols.iter().find(|(n, _)| n == name).ok_or("one of its symbols has no value")?.1;
            i64::try_from(value).map_err(|_| LARGE)
        }
        Expr::Add(a, b) => signed(a, symbols)?.checked_add(signed(b, symbols)?).ok_or(LARGE),
        Expr::Mul(a, b) => signed(a, symbols)?.checked_mul(signed(b, symbols)?).ok_or(LARGE),
        Expr::Div(a, b) => {
            let (a, b) = (signed(a, symbols)?, signed(b, symbols)?);
            if b == 0 {
                return Err("it divides by zero");
            }
            if a.checked_rem(b) != Some(0) {
                return Err("its division is not exact");
            }
            a.checked_div(b).ok_or(LARGE)
        }
        Expr::DivCeil(a, b) => {
            let (a, b) = (signed(a, symbols)?, signed(b, symbols)?);
            if b <= 0 || a < 0 {
                return Err("it divides by zero or a negative number");
            }
            Ok(a / b + i64::from(a % b != 0))
        }
    }
}

/// An expression of a signature as a number, with an error that names the op.
pub(super) fn number(node: &Node, what: &str, expr: &Expr, symbols: &[(&'static str, usize)]) -> Result<usize, PlanError> {
    let shown = || format!("{what}, `{}` on one rank", expr.with(symbols));
    eval(expr, symbols)
        .map_err(|why| size_error(node, &shown(), why, "choose a rank count that divides what the op splits, or check the dimensions of the config and the signature of the task"))
}

/// Rows and columns of a weight; one column for a vector. `None` if there are none, or too many.
pub(super) fn matrix(shape: &[usize]) -> Option<(usize, usize)> {
    match shape {
        [] => None,
        [rows] => Some((*rows, 1)),
        [rows @ .., cols] => Some((rows.iter().try_fold(1usize, |n, r| n.checked_mul(*r))?, *cols)),
    }
}

pub(super) fn sum(parts: &[usize]) -> Option<usize> {
    parts.iter().try_fold(0usize, |n, p| n.checked_add(*p))
}

pub(super) fn size_error(node: &Node, what: &str, why: &'static str, help: &'static str) -> PlanError {
    PlanError::Size { op: node.label(), what: what.to_string(), why, help }
}

pub(super) fn too_large(node: &Node, what: &str) -> PlanError {
    size_error(node, what, "it is too large", "check the dimensions of the config and the options of the plan")
}

pub(super) fn bad_graph(node: &Node, what: &str) -> PlanError {
    PlanError::Graph { op: node.label(), what: what.to_string() }
}

fn node_of(graph: &Graph, op: OpId) -> Result<&Node, PlanError> {
    graph.ops.get(op).ok_or_else(|| PlanError::Graph { op: format!("op {op}"), what: "there is no such op".to_string() })
}

/// Whether the tiles of `axis` cut an output of this shape by rows.
fn is_rows(shape: &[Expr], axis: &Expr) -> bool {
    shape.first().is_some_and(|rows| same(rows, axis))
}

fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Num(a), Expr::Num(b)) => a == b,
        (Expr::Sym(a), Expr::Sym(b)) => a == b,
        (Expr::Add(a, b), Expr::Add(c, d))
        | (Expr::Mul(a, b), Expr::Mul(c, d))
        | (Expr::Div(a, b), Expr::Div(c, d))
        | (Expr::DivCeil(a, b), Expr::DivCeil(c, d)) => same(a, c) && same(b, d),
        _ => false,
    }
}
