//! Collects what is wrong with one file: all of it counted, a bounded part of it kept.

use std::path::Path;

use super::error::Problem;
use super::listing::shown;

/// What is kept of one file. A hostile header has room for millions of problems.
const MOST_KEPT: usize = 50;

/// The problems of one file so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    kept: Vec<(String, String)>,
    count: usize,
    /// The first tensor that ends beyond the file, and how many more do.
    beyond: Option<(String, String, usize)>,
}

impl Findings {
    /// Adds a problem with `field`.
    pub fn add(&mut self, field: &str, what: String) {
        self.count += 1;
        if self.kept.len() < MOST_KEPT {
            self.kept.push((shown(field), what));
        }
    }

    /// Adds a problem with the part `field` of the entry `name`.
    pub fn add_in(&mut self, name: &str, field: &str, what: String) {
        self.add(&format!("{}.{field}", shown(name)), what);
    }

    /// Adds that the tensor `name` ends beyond the file. In a truncated file many do, for one reason: they are one problem.
    pub fn add_beyond(&mut self, name: &str, what: String) {
        match &mut self.beyond {
            Some((.., more)) => *more += 1,
            None => self.beyond = Some((format!("{}.data_offsets", shown(name)), what, 0)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.beyond.is_none()
    }

    /// The problems, said of the file `path`.
    pub fn into_problems(self, path: &Path) -> impl Iterator<Item = Problem> {
        let more = self.count - self.kept.len();
        let rest = (more > 0).then(|| ("and more".to_owned(), format!("{more} problems like these")));
        let beyond = self.beyond.map(|(field, what, more)| match more {
            0 => (field, what),
            1 => (field, format!("{what}; another tensor ends beyond it too: the file is truncated")),
            _ => (field, format!("{what}; {more} more tensors end beyond it too: the file is truncated")),
        });
        let path = path.to_owned();
        beyond.into_iter().chain(self.kept).chain(rest).map(move |(field, what)| Problem { path: path.clone(), field, what })
    }
}
