//! Matches what a model names with what a checkpoint holds (MPK-L0301, MPK-L0302).

use safetensors::Dtype;

use super::checkpoint::{Checkpoint, TensorId};
use super::error::{Found, LoadError, Miss, Nearest, Unused};

/// A tensor that a model needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Names that would do, best first.
    pub names: Vec<String>,
    /// Its shape in elements, slowest dimension first.
    pub shape: Vec<usize>,
}

/// Names compared in the search for near ones. It is far more than a decoder with a few wrong names needs, and keeps
/// the error of a wholly wrong checkpoint of 90,000 tensors under a few seconds.
const MOST_COMPARISONS: usize = 1_000_000;

impl Checkpoint {
    /// Finds every tensor of `wants`, in that order.
    ///
    /// Where several names would do, the first that exists wins, and all of them count as used. `extras` are
    /// tensors known to be unneeded; each may hold one `*`, which stands for any text.
    ///
    /// # Errors
    /// [`LoadError::Mismatch`] with every tensor that is missing, or has another shape or a type that cannot be
    /// read as weights (MPK-L0301), and every tensor that neither `wants` nor `extras` names (MPK-L0302).
    pub fn resolve(&self, wants: &[Want], extras: &[String]) -> Result<Vec<TensorId>, LoadError> {
        let mut used = vec![false; self.ids().count()];
        let mut ids = Vec::with_capacity(wants.len());
        let mut misses = Vec::new();
        let mut near = NearNames { checkpoint: self, comparisons_left: MOST_COMPARISONS };
        for want in wants {
            let existing: Vec<TensorId> = want.names.iter().filter_map(|name| self.find(name)).collect();
            for id in &existing {
                used[id.0] = true;
            }
            let found = match existing.first() {
                None => Found::Nothing(near.find(want)),
                Some(&id) => match self.differs(id, want) {
                    None => {
                        ids.push(id);
                        continue;
                    }
                    Some(found) => found,
                },
            };
            misses.push(Miss { names: want.names.clone(), shape: want.shape.clone(), found });
        }
        let unused = self.unused(&used, extras);
        if misses.is_empty() && unused.is_empty() {
            Ok(ids)
        } else {
            Err(LoadError::Mismatch { dir: self.dir().to_owned(), misses, unused })
        }
    }

    /// Whether the tensor `copy`, if the checkpoint has it, is the same as `of`, if it has that: what a config says that ties them.
    ///
    /// # Errors
    /// [`LoadError::Tied`] (MPK-L0301).
    pub fn check_copy(&self, copy: &[String], of: &[String]) -> Result<(), LoadError> {
        let find = |names: &[String]| names.iter().find_map(|name| self.find(name)).map(|id| self.tensor(id));
        let (Some(copy), Some(of)) = (find(copy), find(of)) else { return Ok(()) };
        if (copy.dtype(), copy.shape(), copy.bytes()) == (of.dtype(), of.shape(), of.bytes()) {
            return Ok(());
        }
        let [tensor, of] = [copy.name(), of.name()].map(str::to_owned);
        Err(LoadError::Tied { path: copy.file().to_owned(), tensor, of })
    }

    fn differs(&self, id: TensorId, want: &Want) -> Option<Found> {
        let tensor = self.tensor(id);
        let name = tensor.name().to_owned();
        if tensor.shape() != want.shape {
            return Some(Found::Shape { name, shape: tensor.shape().to_vec() });
        }
        match tensor.dtype() {
            Dtype::BF16 | Dtype::F16 | Dtype::F32 => None,
            dtype => Some(Found::Type { name, dtype }),
        }
    }

    fn unused(&self, used: &[bool], extras: &[String]) -> Vec<Unused> {
        let tensors = self.ids().filter(|id| !used[id.0]).map(|id| self.tensor(id));
        tensors
            .filter(|tensor| !extras.iter().any(|extra| matches(extra, tensor.name())))
            .map(|tensor| Unused { name: tensor.name().to_owned(), shape: tensor.shape().to_vec(), dtype: tensor.dtype() })
            .collect()
    }
}

/// Whether `name` is what `pattern` says, its first `*` standing for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

struct NearNames<'a> {
    checkpoint: &'a Checkpoint,
    comparisons_left: usize,
}

impl NearNames<'_> {
    /// The existing tensor with the name nearest to any of `want.names`, if one is near enough to be meant.
    fn find(&mut self, want: &Want) -> Option<Nearest> {
        let mut best = None;
        for name in &want.names {
            // A third of the letters wrong is another name.
            let furthest = name.len() / 3;
            let numbers: Vec<&str> = numbers(name).collect();
            for id in self.checkpoint.ids() {
                self.comparisons_left = self.comparisons_left.checked_sub(1)?;
                let tensor = self.checkpoint.tensor(id);
                if tensor.name().len().abs_diff(name.len()) > furthest {
                    continue;
                }
                let distance = distance(name, tensor.name());
                if distance > furthest {
                    continue;
                }
                // Of two equally near names, the one in the same layer and of the same shape is meant.
                let other_layer = !numbers.iter().copied().eq(self::numbers(tensor.name()));
                let other_shape = tensor.shape() != want.shape;
                let key = (distance + 2 * usize::from(other_layer), other_shape, id);
                if best.is_none_or(|best| key < best) {
                    best = Some(key);
                }
            }
        }
        let (.., id) = best?;
        let tensor = self.checkpoint.tensor(id);
        Some(Nearest { name: tensor.name().to_owned(), shape: tensor.shape().to_vec() })
    }
}

/// The components of a name that are numbers: its layer, its expert.
fn numbers(name: &str) -> impl Iterator<Item = &str> {
    name.split('.').filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The edit distance in bytes. Names of one checkpoint share long ends, which need no table.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    // The table row by row: `row[j]` is the distance of the rows read so far to the first `j` bytes of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let cases = [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2)];
        for (a, b, expected) in cases {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("a.*.c", "a.17.c"));
        assert!(matches("a*", "a"));
        assert!(matches("*", "anything"));
        assert!(!matches("ab*ba", "aba"));
        assert!(!matches("a.*.c", "a.17.d"));
        assert!(!matches("a", "ab"));
    }
}
