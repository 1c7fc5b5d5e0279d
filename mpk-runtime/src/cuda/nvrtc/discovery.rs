//! Where NVRTC may lie: CUDA toolkits, Python environments, system libraries. Nothing here needs `LD_LIBRARY_PATH`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable that names the library, or a folder that holds it, and wins over everything else.
pub const EXPLICIT: &str = "MPK_NVRTC";

/// Major versions, newest first.
const MAJORS: [u32; 2] = [13, 12];

/// Folders to look in, the most explicit first. `env` reads an environment variable.
///
/// A folder given by [`EXPLICIT`] is the only one: whoever names a library does not want another one.
pub fn folders(env: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    if let Some(explicit) = env(EXPLICIT) {
        return vec![explicit.into()];
    }
    let mut folders = Vec::new();
    for toolkit in ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| env(name)) {
        folders.extend(toolkit_folders(Path::new(&toolkit)));
    }
    for prefix in python_prefixes(env) {
        folders.extend(wheel_folders(&prefix));
    }
    folders.extend(toolkit_folders(Path::new("/usr/local/cuda")));
    let mut versions = children(Path::new("/usr/local"), |name| name.starts_with("cuda-"));
    versions.reverse();
    folders.extend(versions.iter().flat_map(|toolkit| toolkit_folders(toolkit)));
    folders
        .extend(["/opt/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"].map(PathBuf::from));
    unique(folders.into_iter().filter(|folder| !is_stub(folder)))
}

fn unique(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    paths.fold(Vec::new(), |mut found, path| {
        if !found.contains(&path) {
            found.push(path);
        }
        found
    })
}

/// The library in `folder`, newest first; or `folder` itself if it is a library.
pub fn libraries(folder: &Path) -> Vec<PathBuf> {
    if folder.is_file() {
        return vec![folder.to_path_buf()];
    }
    MAJORS.iter().map(|major| folder.join(format!("libnvrtc.so.{major}"))).filter(|path| path.exists()).collect()
}

/// The libraries of built-in functions beside `library`, which NVRTC opens by name only.
pub fn builtins(library: &Path) -> Vec<PathBuf> {
    let major = library.to_string_lossy().rsplit("so.").next().map(|v| v.split('.').next().unwrap_or(v).to_string());
    let wanted = format!("libnvrtc-builtins.so.{}", major.unwrap_or_default());
    library.parent().map(|folder| children(folder, |name| name.starts_with(&wanted))).unwrap_or_default()
}

/// `stubs` hold no code, `compat` holds drivers for other machines.
fn is_stub(folder: &Path) -> bool {
    folder.components().any(|part| part.as_os_str() == "stubs" || part.as_os_str() == "compat")
}

fn toolkit_folders(toolkit: &Path) -> [PathBuf; 2] {
    [toolkit.join("lib64"), toolkit.join("targets/x86_64-linux/lib")]
}

/// The prefixes of Python environments: the active ones, then that of every `python3` on the path. A pyenv shim stands for the
/// versions beside it.
fn python_prefixes(env: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| env(name)).map(PathBuf::from).collect();
    for bin in env("PATH").iter().flat_map(std::env::split_paths) {
        let python = bin.join("python3");
        if !python.exists() {
            continue;
        }
        let real = std::fs::canonicalize(&python).unwrap_or(python);
        prefixes.extend(bin.parent().map(Path::to_path_buf));
        prefixes.extend(real.parent().and_then(Path::parent).map(Path::to_path_buf));
        if bin.ends_with("shims") {
            prefixes.extend(bin.parent().map(|root| children(&root.join("versions"), |_| true)).unwrap_or_default());
        }
    }
    prefixes
}

/// The folders of NVIDIA's wheels below a Python prefix: CUDA 13 has one for all, CUDA 12 one each.
fn wheel_folders(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for lib in ["lib", "lib64"] {
        for python in children(&prefix.join(lib), |name| name.starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                folders.extend(["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"].map(|sub| python.join(packages).join(sub)));
            }
        }
    }
    folders
}

/// Entries of a folder by name, sorted; none if it can't be read.
fn children(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        entries.flatten().filter(|entry| wanted(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_choice_is_the_only_one() {
        let env = |name: &str| (name == EXPLICIT || name == "CUDA_HOME").then(|| OsString::from("/somewhere"));
        assert_eq!(folders(&env), [PathBuf::from("/somewhere")]);
    }

    #[test]
    fn toolkits_wheels_and_shims_are_searched_and_stubs_are_not() {
        let root = tempfile::tempdir().unwrap();
        let site = root.path().join("pyenv/versions/3.12/lib/python3.12/site-packages/nvidia/cu13/lib");
        std::fs::create_dir_all(&site).unwrap();
        std::fs::write(site.join("libnvrtc.so.13"), "").unwrap();
        std::fs::write(site.join("libnvrtc-builtins.so.13.0"), "").unwrap();
        let shims = root.path().join("pyenv/shims");
        std::fs::create_dir_all(&shims).unwrap();
        std::fs::write(shims.join("python3"), "").unwrap();
        let env = |name: &str| match name {
            "PATH" => Some(shims.clone().into_os_string()),
            "CUDA_HOME" => Some("/toolkit".into()),
            "CUDA_PATH" => Some("/toolkit/stubs".into()),
            _ => None,
        };
        let found = folders(&env);
        assert_eq!(found[0], Path::new("/toolkit/lib64"));
        assert!(found.contains(&site), "{found:?}");
        assert!(!found.iter().any(|folder| is_stub(folder)));
        assert_eq!(libraries(&site), [site.join("libnvrtc.so.13")]);
        assert_eq!(builtins(&site.join("libnvrtc.so.13")), [site.join("libnvrtc-builtins.so.13.0")]);
    }
}
