//! One check of a task: what goes in, and what its definition gives.

use half::bf16;

use super::{Matrix, Random, Rule};
use crate::graph::Input;
use crate::shape::{Elem, Place};
use crate::step::{PAGE_POSITIONS, Row, StepRows};

/// Rows that every shape is checked with: one, some, and all that a step can have.
pub const STEP_ROWS: [usize; 3] = [1, 5, 16];

/// A case for each of `shapes` and each of [`STEP_ROWS`], each with a generator of its own.
pub fn over<S: Copy>(shapes: &[S], case: impl Fn(&mut Random, usize, S) -> Case) -> Vec<Case> {
    let all = shapes.iter().flat_map(|shape| STEP_ROWS.map(|rows| (rows, *shape)));
    all.enumerate().map(|(seed, (rows, shape))| case(&mut Random::new(seed as u64), rows, shape)).collect()
}

/// A task with inputs, and what it must give: one plan, one or more steps.
pub struct Case {
    pub(super) name: String,
    pub(super) ranks: usize,
    pub(super) slots: usize,
    pub(super) context: usize,
    pub(super) weights: Vec<Fixed>,
    pub(super) named: Vec<(&'static str, Input)>,
    pub(super) symbols: Vec<(&'static str, usize)>,
    pub(super) inputs: Vec<Fed>,
    pub(super) states: Vec<(&'static str, Matrix)>,
    pub(super) steps: Vec<Step>,
    /// Calls that say something of what is not there yet.
    pub(super) stray: Vec<String>,
}

/// A `Weight` of the task.
pub(super) struct Fixed {
    pub(super) port: &'static str,
    pub(super) shape: Vec<usize>,
    /// Rows by part, as a model stacks them.
    pub(super) parts: Vec<usize>,
    pub(super) data: Vec<bf16>,
}

/// An `In` of the task.
pub(super) struct Fed {
    pub(super) port: &'static str,
    pub(super) elem: Elem,
    pub(super) place: Place,
    /// Features on one rank, by part.
    pub(super) parts: Vec<usize>,
}

pub(super) struct Step {
    pub(super) rows: StepRows,
    /// Ports and values, parallel to [`Case::inputs`]; one matrix for all ranks, or one for each.
    pub(super) inputs: Vec<(&'static str, Vec<Matrix>)>,
    pub(super) expects: Vec<Expect>,
}

/// What a step must give.
pub(super) struct Expect {
    pub(super) what: Target,
    pub(super) rule: Rule,
    /// One for all ranks, or one for each.
    pub(super) definition: Vec<Matrix>,
    /// Wrong results, which the comparison must refuse: what is left out, and what that gives.
    pub(super) mutants: Vec<(&'static str, Vec<Matrix>)>,
}

/// What belongs to `rank` out of one for all, or one for each.
pub(super) fn of_rank(all: &[Matrix], rank: usize) -> Option<&Matrix> {
    all.get(rank).or(all.first())
}

/// A function of a result.
pub(super) type View = Box<dyn Fn(&Matrix) -> Matrix>;

pub(super) enum Target {
    /// The `Out` of this name.
    Out(&'static str),
    /// A function of the `Out` of this name.
    View(&'static str, View),
    /// The whole state of this name, by rows of its last dimension.
    State(&'static str),
}

impl Target {
    /// The port that it is of.
    pub(super) fn port(&self) -> &'static str {
        match self {
            Target::Out(port) | Target::View(port, _) | Target::State(port) => port,
        }
    }
}

impl Case {
    /// A case whose first step has `rows` rows: tokens of one sequence.
    pub fn new(name: impl Into<String>, rows: usize) -> Case {
        let row = |position| Row { slot: 0, position, token: 0, sample: true };
        Case::of(name, StepRows::new((0..rows).map(row).collect(), vec![vec![0]]))
    }

    /// A case whose first step has these rows.
    pub fn of(name: impl Into<String>, rows: StepRows) -> Case {
        Case {
            name: format!("{} rows, {}", rows.len(), name.into()),
            ranks: 1,
            slots: 1,
            context: PAGE_POSITIONS,
            weights: Vec::new(),
            named: Vec::new(),
            symbols: Vec::new(),
            inputs: Vec::new(),
            states: Vec::new(),
            steps: vec![Step { rows, inputs: Vec::new(), expects: Vec::new() }],
            stray: Vec::new(),
        }
    }

    /// Runs on so many ranks.
    pub fn ranks(mut self, ranks: usize) -> Case {
        self.ranks = ranks;
        self
    }

    /// A cache for `slots` sequences of `context` positions.
    pub fn cache(mut self, slots: usize, context: usize) -> Case {
        (self.slots, self.context) = (slots, context);
        self
    }

    /// The weight of a port: outputs × inputs, or of one dimension if it has one column.
    pub fn weight(self, port: &'static str, w: &Matrix) -> Case {
        self.stacked(port, w, &[w.rows()])
    }

    /// The weight of a port that a model stacks of parts with so many rows.
    pub fn stacked(mut self, port: &'static str, w: &Matrix, parts: &[usize]) -> Case {
        let shape = if w.cols() == 1 { vec![w.rows()] } else { vec![w.rows(), w.cols()] };
        let data = w.data().iter().copied().map(bf16::from_f64).collect();
        self.weights.push(Fixed { port, shape, parts: parts.to_vec(), data });
        self
    }

    /// A parameter, or the element type of an `Out`.
    pub fn param(mut self, port: &'static str, value: impl Into<Input>) -> Case {
        self.named.push((port, value.into()));
        self
    }

    /// A symbol that no port of the task binds: in a model the task before it does.
    pub fn symbol(mut self, name: &'static str, value: usize) -> Case {
        self.symbols.push((name, value));
        self
    }

    /// What flows into a port in this step, the same on all ranks.
    pub fn input(self, port: &'static str, elem: Elem, x: &Matrix) -> Case {
        self.input_by_rank(port, elem, Place::Replicated, vec![x.clone()])
    }

    /// The parts of the input named last: queries, keys and values.
    pub fn parts(mut self, parts: &[usize]) -> Case {
        match self.inputs.last_mut() {
            Some(fed) => fed.parts = parts.to_vec(),
            None => self.stray.push("`parts` comes before any input\nhelp: name the input first".into()),
        }
        self
    }

    /// What flows into a port in this step, by rank.
    pub fn input_by_rank(mut self, port: &'static str, elem: Elem, place: Place, x: Vec<Matrix>) -> Case {
        if self.steps.len() == 1 {
            let cols = x.first().map_or(0, Matrix::cols);
            let features = if elem == Elem::U64 { cols / 2 } else { cols };
            self.inputs.push(Fed { port, elem, place, parts: vec![features] });
        }
        self.now().inputs.push((port, x));
        self
    }

    /// A state as it is before the first step, by rows of its last dimension; zeros if not given.
    pub fn state(mut self, port: &'static str, before: &Matrix) -> Case {
        self.states.push((port, before.clone()));
        self
    }

    /// A further step; its inputs come in the order of those of the first.
    pub fn then(mut self, rows: StepRows) -> Case {
        self.steps.push(Step { rows, inputs: Vec::new(), expects: Vec::new() });
        self
    }

    /// What the step gives at an `Out`. Results without the last token, or without the last features, must be refused.
    pub fn gives(self, port: &'static str, rule: Rule, definition: Matrix) -> Case {
        self.gives_by_rank(port, rule, vec![definition])
    }

    /// As [`Case::gives`], with a result for each rank.
    pub fn gives_by_rank(self, port: &'static str, rule: Rule, definition: Vec<Matrix>) -> Case {
        let tokens = definition.iter().map(without_last_row).collect();
        let features = definition.iter().map(without_features).collect();
        self.expect(Target::Out(port), rule, definition)
            .not_by_rank("the last token", tokens)
            .not_by_rank("the last features", features)
    }

    /// What a function of an `Out` is after the step.
    pub fn gives_view(self, port: &'static str, view: impl Fn(&Matrix) -> Matrix + 'static, rule: Rule, value: Matrix) -> Case {
        self.expect(Target::View(port, Box::new(view)), rule, vec![value])
    }

    /// What a state is after the step, by rows of its last dimension.
    pub fn leaves(self, port: &'static str, rule: Rule, definition: Matrix) -> Case {
        self.expect(Target::State(port), rule, vec![definition])
    }

    /// What the result named last would be if the task left something out: the comparison must refuse it.
    pub fn not(self, without: &'static str, wrong: Matrix) -> Case {
        self.not_by_rank(without, vec![wrong])
    }

    /// As [`Case::not`], with a result for each rank.
    pub fn not_by_rank(mut self, without: &'static str, wrong: Vec<Matrix>) -> Case {
        match self.now().expects.last_mut() {
            Some(expect) => expect.mutants.push((without, wrong)),
            None => {
                self.stray.push(format!("what a step is not without {without} comes before what it gives\nhelp: say that first"))
            }
        }
        self
    }

    fn expect(mut self, what: Target, rule: Rule, definition: Vec<Matrix>) -> Case {
        self.now().expects.push(Expect { what, rule, definition, mutants: Vec::new() });
        self
    }

    fn now(&mut self) -> &mut Step {
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }
}

fn without_last_row(of: &Matrix) -> Matrix {
    let last = of.rows().saturating_sub(1);
    Matrix::of(of.rows(), of.cols(), |t, n| if t == last { 0.0 } else { of.at(t, n) })
}

/// Without what an `mma` computes last: 16 outputs.
fn without_features(of: &Matrix) -> Matrix {
    let kept = of.cols().saturating_sub(16);
    Matrix::of(of.rows(), of.cols(), |t, n| if n < kept { of.at(t, n) } else { 0.0 })
}
