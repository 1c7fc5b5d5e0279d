//! Where a token stands, in words that do not depend on the folder of the checkout.

use std::path::{Path, PathBuf};

use proc_macro2::Span;

/// The file of a token.
#[derive(Clone, Debug)]
pub struct Place {
    /// `crate/relative/path`.
    pub file: String,
    /// Its folder, if the compiler says which file it reads.
    pub folder: Option<PathBuf>,
}

impl Place {
    /// The file that `span` is in. Never fails: editors run macros without files.
    pub fn of(span: Span) -> Place {
        match span.local_file() {
            Some(path) => {
                let path = std::path::absolute(&path).unwrap_or(path);
                Place { file: crate_path(&path), folder: path.parent().map(Path::to_path_buf) }
            }
            None => Place { file: crate_path(Path::new(&span.file())), folder: None },
        }
    }

    /// The file `name` beside this one, and its own place.
    pub fn beside(&self, name: &str) -> Option<(PathBuf, String)> {
        let path = self.folder.as_ref()?.join(name);
        let file = crate_path(&path);
        Some((path, file))
    }
}

/// `path` from the crate's folder on, after the crate's name.
fn crate_path(path: &Path) -> String {
    let variable = |name| std::env::var(name).ok();
    relative_to(path, variable("CARGO_MANIFEST_DIR").as_deref(), variable("CARGO_PKG_NAME").as_deref())
}

fn relative_to(path: &Path, manifest: Option<&str>, package: Option<&str>) -> String {
    let inside = manifest.and_then(|root| {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let root = Path::new(root);
        path.strip_prefix(root)
            .ok()
            .map(Path::to_path_buf)
            .or_else(|| real(path).strip_prefix(real(root)).ok().map(Path::to_path_buf))
    });
    // A file outside of the crate has only its own name in common between checkouts.
    let relative = inside.unwrap_or_else(|| path.file_name().map_or_else(PathBuf::new, PathBuf::from));
    let mut parts: Vec<String> = package.map(str::to_string).into_iter().collect();
    for part in relative.components() {
        match part {
            std::path::Component::ParentDir => drop(parts.pop()),
            std::path::Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_do_not_depend_on_the_checkout() {
        let of = |path: &str| relative_to(Path::new(path), Some("/a/mpk-tasks"), Some("mpk-tasks"));
        assert_eq!(of("/a/mpk-tasks/src/linear/mod.rs"), "mpk-tasks/src/linear/mod.rs");
        assert_eq!(of("/a/mpk-tasks/src/linear/../common.cuh"), "mpk-tasks/src/common.cuh");
        assert_eq!(of("/elsewhere/case.rs"), "mpk-tasks/case.rs");
        assert_eq!(relative_to(Path::new(""), None, None), "");
    }

    #[test]
    fn a_span_without_a_file_is_no_failure() {
        assert!(Place::of(Span::call_site()).beside("x.cuh").is_none());
    }
}
