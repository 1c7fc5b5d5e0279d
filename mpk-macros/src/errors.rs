//! What is wrong with an item: collected, and reported all at once, each with what it would do on the GPU and how to mend it.

use std::borrow::Cow;
use std::fmt::{self, Display};

use proc_macro2::{Span, TokenStream};

/// The table of codes: what would happen on the GPU, and how to mend it. A [`Problem`] may say either more precisely.
macro_rules! codes {
    ($($code:ident: $gpu:literal, $help:literal;)*) => {
        /// The contracts that the macros check. The text of each is [`Code::gpu`] and [`Code::help`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $gpu] $code,)*
        }

        impl Code {
            /// `MPK-E0101`.
            pub const fn id(self) -> &'static str {
                match self { $(Code::$code => concat!("MPK-", stringify!($code)),)* }
            }

            /// What would happen on the GPU.
            pub const fn gpu(self) -> &'static str {
                match self { $(Code::$code => $gpu,)* }
            }

            /// How to mend it.
            pub const fn help(self) -> &'static str {
                match self { $(Code::$code => $help,)* }
            }
        }
    };
}

// Only the consumer of a task has a body of the author, so E0104 never comes without an E0111 of the role: it says why the body
// could not simply be run. E0150, E0152 and E0160 belong to `mpk_runtime::shape` and `mpk_runtime::task`.
codes! {
    E0101: "the task would end at once and its trigger never come: every worker would wait for ever, silently",
        "give each declared role a body that is not empty, and declare the role of each body";
    E0102: "the task would read activations that are not there yet, or wait for what never comes",
        "wait for each `In` once, at the top level of the consumer, before its first use: `dep_wait();`";
    E0103: "the task would read what the step before left there, or overwrite what a slow reader still needs: right at step 0, wrong later",
        "move the access after `dep_wait()`; weights, parameters and scratch may be touched before it";
    E0104: "the role would read or overwrite activations at any time, since only the consumer waits and is run",
        "leave activations to the consumer";
    E0110: "half of the tile would not be computed, or a barrier would never fill",
        "a group is 128 threads: more work is more groups, `consumer(groups = 1)` to `consumer(groups = 3)`";
    E0111: "the launch would fail, or registers would spill silently",
        "declare `roles(consumer)`: loader, storer and controller are the runtime's, the same for all tasks";
    E0112: "it would wait for warps that run another role, and never return",
        "join the threads of a group with `role_sync()`, all consumer groups with `groups_sync()`";
    E0113: "a task that runs on another SM would compute another tile",
        "use `task.first_tile`, `task.tiles`, `role_thread()`, `role_warp()` and `lane()`";
    E0114: "a page would be freed while a lane still reads it, now and then",
        "read pages by `for (auto p : w.pages())`: waiting, `__syncwarp()` and release belong to the iterator";
    E0120: "the instances would not know their index, and the grid barrier would never fill",
        "declare `grid` in `#[mpk_task(…)]` and take a port of type `TaskOffset`";
    E0121: "waits would see counts of the past again: step 0 right, step 1 hanging",
        "only add to a monotonic state; it is initialised once, at step 0";
    E0130: "the shared memory of all tasks would move, and another task would fail with a misaligned address",
        "declare the region in `smem(scratch(name: [f32; 256]))` and use it by name";
    E0131: "bulk copies and wgmma would read from a misaligned address, perhaps in another task",
        "align to a power of two, at least 1024 where regions are read by bulk copies or wgmma";
    E0132: "the launch would fail for want of shared memory",
        "use smaller regions, or reuse one for several purposes";
    E0133: "the page would not be released: the ring would stall, or be overwritten while it is read",
        "run the loop over the pages to its end; skip the work with `if` where it is not needed";
    E0140: "the task would read beyond the rows, or other features than it means",
        "make the shapes of the two ops agree, by symbol";
    E0141: "the rows beyond would silently not be computed",
        "declare `tokens = 16` or fewer";
    E0151: "the ranks would run different graphs: deadlock, or stale sums",
        "let conditions depend on the config and the layer only";
}

/// One broken contract, or one error without a code, still without a place.
#[derive(Clone, Debug)]
pub struct Problem {
    code: Option<Code>,
    what: String,
    gpu: Cow<'static, str>,
    help: Cow<'static, str>,
}

impl Problem {
    /// `what` breaks the contract `code`.
    pub fn new(code: Code, what: impl Into<String>) -> Problem {
        Problem { code: Some(code), what: what.into(), gpu: code.gpu().into(), help: code.help().into() }
    }

    /// An error without a code: what the compiler would find too, only later, or what the checks can't read.
    pub fn plain(what: impl Into<String>, help: &'static str) -> Problem {
        Problem { code: None, what: what.into(), gpu: "".into(), help: help.into() }
    }

    /// Says more precisely what would happen on the GPU.
    pub fn gpu(self, gpu: impl Into<Cow<'static, str>>) -> Problem {
        Problem { gpu: gpu.into(), ..self }
    }

    /// Says more precisely how to mend it.
    pub fn help(self, help: impl Into<Cow<'static, str>>) -> Problem {
        Problem { help: help.into(), ..self }
    }

    /// The code.
    #[cfg(test)]
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// The same problem with `context` between what is wrong and what would happen: an excerpt of the source.
    pub fn with_context(self, context: &str) -> Problem {
        Problem { what: format!("{}\n{context}", self.what), ..self }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code {
            write!(f, "{}: ", code.id())?;
        }
        f.write_str(&self.what)?;
        if !self.gpu.is_empty() {
            write!(f, "\non the GPU: {}", self.gpu)?;
        }
        write!(f, "\nhelp: {}", self.help)
    }
}

/// All errors of one macro call.
#[derive(Debug, Default)]
pub struct Errors(Vec<syn::Error>);

impl Errors {
    /// None yet.
    pub fn new() -> Errors {
        Errors::default()
    }

    /// Adds a broken contract at `span`.
    pub fn report(&mut self, span: Span, problem: Problem) {
        self.0.push(syn::Error::new(span, problem));
    }

    /// Adds an error of syntax, which has no code.
    pub fn syntax(&mut self, span: Span, message: impl Display) {
        self.0.push(syn::Error::new(span, message));
    }

    /// Adds what syn found.
    pub fn push(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    /// The value, or `None` after adding the error.
    pub fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The messages, in the order they were found.
    #[cfg(test)]
    pub fn messages(&self) -> Vec<String> {
        self.0.iter().flat_map(|e| e.clone().into_iter().map(|e| e.to_string())).collect()
    }

    /// One `compile_error!` each; nothing if there is no error.
    pub fn into_compile_errors(self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }
}

/// The candidate nearest to `name`, if it is near enough to be what was meant.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = candidates.into_iter().map(|c| (distance(name, c), c)).min_by_key(|(d, _)| *d)?;
    let length = name.chars().count();
    // One letter for another is no likeness.
    (near.0 < length && near.0 <= length.max(3) / 3).then_some(near.1)
}

/// Edit distance: insertions, deletions, replacements, and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_why_and_how() {
        let text = Problem::new(Code::E0112, "`__syncthreads` in a role body").to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("MPK-E0112: `__syncthreads`"));
        assert!(lines[1].starts_with("on the GPU: ") && lines[2].starts_with("help: "));
    }

    #[test]
    fn all_errors_are_emitted() {
        let mut errors = Errors::new();
        errors.report(Span::call_site(), Problem::new(Code::E0101, "one"));
        errors.syntax(Span::call_site(), "two");
        assert_eq!(errors.messages().len(), 2);
        assert_eq!(errors.into_compile_errors().to_string().matches("compile_error").count(), 2);
    }

    #[test]
    fn near_names_are_found_and_far_ones_not() {
        assert_eq!(closest("consumr", ["loader", "consumer"]), Some("consumer"));
        assert_eq!(closest("inptu", ["output", "input"]), Some("input"));
        assert_eq!(closest("z", ["loader", "consumer"]), None);
        assert_eq!((closest("", []), closest("x", ["y"]), closest("xx", ["x"])), (None, None, Some("x")));
    }
}
