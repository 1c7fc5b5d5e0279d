//! What NVRTC and ptxas say: diagnostics by file and line, resources by function.

use std::fmt;

/// An error or a warning at a place of the source, as `#line` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Whether it is an error.
    pub error: bool,
    /// The message, and the lines of source that the compiler shows below it.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.error { "error" } else { "warning" };
        write!(f, "{}:{}: {kind}: {}", self.file, self.line, self.message)
    }
}

/// What ptxas says of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Its name.
    pub function: String,
    /// Registers of a thread at launch.
    pub registers: u32,
    /// Bytes of stack.
    pub stack: u32,
    /// Bytes of spill stores.
    pub spill_stores: u32,
    /// Bytes of spill loads.
    pub spill_loads: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
}

/// The diagnostics in a log.
pub fn diagnostics(log: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut open = false;
    for line in log.lines() {
        if let Some(diagnostic) = head(line) {
            found.push(diagnostic);
            open = true;
        } else if line.trim().is_empty() || line.starts_with("ptxas") {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.message.push('\n');
            last.message.push_str(line);
        }
    }
    found
}

/// `file(line): error: message`, `file(line): warning #20-D: message`.
fn head(text: &str) -> Option<Diagnostic> {
    let (place, rest) = text.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    let (kind, message) = rest.split_once(": ")?;
    let error = kind.contains("error");
    (error || kind.starts_with("warning")).then_some(())?;
    Some(Diagnostic { file: file.into(), line: line.parse().ok()?, error, message: message.into() })
}

/// The resources of all functions in a log made with `-v`.
pub fn resources(log: &str) -> Vec<Resources> {
    let mut found: Vec<Resources> = Vec::new();
    for line in log.lines() {
        if let Some(name) = line.split_once("Compiling entry function '").and_then(|(_, rest)| rest.split('\'').next()) {
            found.push(Resources { function: name.into(), ..Resources::default() });
        }
        let Some(last) = found.last_mut() else { continue };
        if line.contains("bytes stack frame") {
            last.stack = before(line, " bytes stack frame");
            last.spill_stores = before(line, " bytes spill stores");
            last.spill_loads = before(line, " bytes spill loads");
        } else if line.contains(" registers") {
            last.registers = before(line, " registers");
            last.shared = before(line, " bytes smem");
        }
    }
    found
}

/// The number that stands before `unit`; 0 if there is none.
fn before(line: &str, unit: &str) -> u32 {
    line.find(unit).and_then(|end| line[..end].rsplit([' ', ',']).next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_place() {
        let log = "mpk-tasks/src/x/consumer.cuh(12): error: identifier \"z\" is undefined\n    y = z;\n        ^\n\n\
                   a(b).cuh(3): warning #177-D: variable \"u\" was declared but never referenced\n\n1 error detected\n";
        let found = diagnostics(log);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].file.as_str(), found[0].line, found[0].error), ("mpk-tasks/src/x/consumer.cuh", 12, true));
        assert_eq!(found[0].message, "identifier \"z\" is undefined\n    y = z;\n        ^");
        assert_eq!((found[1].file.as_str(), found[1].line, found[1].error), ("a(b).cuh", 3, false));
    }

    #[test]
    fn resources_are_read_by_function() {
        let log = "ptxas info    : Compiling entry function 'mpk' for 'sm_90a'\nptxas info    : Function properties for mpk\n    \
                   16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
                   ptxas info    : Used 168 registers, used 3 barriers, 16 bytes smem, 400 bytes cmem[0]\n";
        let expected =
            Resources { function: "mpk".into(), registers: 168, stack: 16, spill_stores: 4, spill_loads: 8, shared: 16 };
        assert_eq!(resources(log), [expected]);
    }
}
