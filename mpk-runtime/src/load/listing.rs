//! Lists in error texts: names made safe to print, and lines that differ only in a number folded into one.

use std::collections::HashMap;
use std::fmt;

/// The longest name printed in full, in characters.
const LONGEST_NAME: usize = 160;

/// A name out of a file, safe to print: control characters are escaped and an absurd length is cut.
pub(super) fn shown(name: &str) -> String {
    let mut chars = name.chars();
    let mut text: String = chars.by_ref().take(LONGEST_NAME).flat_map(printable).collect();
    if chars.next().is_some() {
        text.push('…');
    }
    text
}

fn printable(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

/// A shape as users write it: `[512, 192]`.
pub(super) struct Shape<'a>(pub &'a [usize]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Lines of a list that are printed: a hostile file has room for millions.
const MOST_LINES: usize = 64;

/// A title, indented lines, and a help line.
pub(super) fn list(title: &str, lines: Vec<String>, help: &str) -> String {
    let mut text = title.to_owned();
    for line in lines.iter().take(MOST_LINES) {
        text.push_str("\n  ");
        text.push_str(line);
    }
    if lines.len() > MOST_LINES {
        text.push_str(&format!("\n  and {} more", lines.len() - MOST_LINES));
    }
    text.push_str("\nhelp: ");
    text.push_str(help);
    text
}

/// Folds lines that differ in a single name component into one.
///
/// A model with a wrong layer misses the same tensor in each of its layers: `model.layers.{0-27}.x` reads better
/// than 28 lines. Only whole components between dots count as numbers, so shapes always stay as they are. The
/// order is that of each line's first appearance.
pub(super) fn fold_numbered(lines: Vec<String>) -> Vec<String> {
    let mut groups: Vec<Group> = Vec::new();
    let mut by_pattern: HashMap<String, usize> = HashMap::new();
    for line in lines {
        let (pattern, numbers) = split_numbers(&line);
        // Several numbers may only vary together, as in a line that names a tensor and its neighbour.
        let same = numbers.iter().all(|n| Some(n) == numbers.first());
        match by_pattern.get(&pattern) {
            Some(&at) if same && groups[at].foldable => groups[at].add(line, &numbers),
            _ => {
                by_pattern.insert(pattern.clone(), groups.len());
                let mut group = Group { pattern, foldable: same, numbers: Vec::new(), lines: Vec::new() };
                group.add(line, &numbers);
                groups.push(group);
            }
        }
    }
    groups.into_iter().flat_map(Group::into_lines).collect()
}

struct Group {
    /// The line with `HOLE` in the place of each number.
    pattern: String,
    foldable: bool,
    numbers: Vec<u64>,
    lines: Vec<String>,
}

impl Group {
    fn add(&mut self, line: String, numbers: &[u64]) {
        self.numbers.extend(numbers.first());
        self.lines.push(line);
    }

    fn into_lines(self) -> Vec<String> {
        if self.lines.len() < 3 {
            return self.lines;
        }
        vec![self.pattern.replace(HOLE, &format!("{{{}}}", ranges(self.numbers)))]
    }
}

/// Stands for a number in a pattern; never part of a printed line, since control characters are escaped.
const HOLE: char = '\u{1}';

/// The line with its numeric name components replaced, and those numbers.
fn split_numbers(line: &str) -> (String, Vec<u64>) {
    let mut numbers = Vec::new();
    let parts: Vec<String> = line
        .split('.')
        .map(|part| match part.parse::<u64>() {
            // "007" would not come back as itself.
            Ok(number) if number.to_string() == part => {
                numbers.push(number);
                HOLE.to_string()
            }
            _ => part.to_owned(),
        })
        .collect();
    (parts.join("."), numbers)
}

/// Numbers as `0-3,5`.
fn ranges(mut numbers: Vec<u64>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let texts: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run.iter().map(ToString::to_string).collect(),
        })
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(lines: &[&str]) -> Vec<String> {
        fold_numbered(lines.iter().map(|&line| line.to_owned()).collect())
    }

    #[test]
    fn layers_fold_into_ranges() {
        let lines = ["l.0.a [3]", "norm [3]", "l.1.a [3]", "l.2.a [3]", "l.9.a [3]"];
        assert_eq!(fold(&lines), ["l.{0-2,9}.a [3]", "norm [3]"]);
    }

    #[test]
    fn two_lines_and_other_shapes_stay() {
        let lines = ["l.0.a [3]", "l.1.a [3]", "l.2.a [4]"];
        assert_eq!(fold(&lines), lines);
    }

    #[test]
    fn numbers_fold_only_together() {
        let together = ["l.0.a: near l.0.b", "l.1.a: near l.1.b", "l.2.a: near l.2.b"];
        assert_eq!(fold(&together), ["l.{0-2}.a: near l.{0-2}.b"]);
        let apart = ["l.0.a: near l.1.b", "l.1.a: near l.2.b", "l.2.a: near l.3.b"];
        assert_eq!(fold(&apart), apart);
    }

    #[test]
    fn long_lists_are_cut() {
        let lines = |count: usize| (0..count).map(|i| format!("line {i}")).collect();
        assert!(!list("title", lines(MOST_LINES), "h").contains("more"));
        let text = list("title", lines(MOST_LINES + 7), "h");
        assert!(text.ends_with("line 63\n  and 7 more\nhelp: h"), "{text}");
    }

    #[test]
    fn names_are_safe_to_print() {
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(shown("名.weight"), "名.weight");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), LONGEST_NAME + 1);
    }
}
