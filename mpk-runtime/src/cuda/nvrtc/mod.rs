//! NVRTC: found by absolute path, loaded once, and used to compile a source with its headers to a CUBIN.

mod discovery;
mod log;

use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::nvrtc::sys;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use thiserror::Error;

pub use discovery::EXPLICIT;
pub use log::{Diagnostic, Resources};

/// The oldest NVRTC that is tested.
pub const OLDEST: Version = Version { major: 12, minor: 9 };

/// A version of NVRTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major.
    pub major: i32,
    /// Minor.
    pub minor: i32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A CUBIN and what the compiler said of it.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// The ELF file.
    pub bytes: Vec<u8>,
    /// The whole log.
    pub log: String,
    /// Registers, spills and shared memory by function.
    pub resources: Vec<Resources>,
}

/// Why there is no CUBIN.
#[derive(Clone, Debug, Error)]
pub enum NvrtcError {
    /// No usable library.
    #[error(
        "no usable NVRTC ({OLDEST} or newer): install a CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or set {EXPLICIT} to the library\n\
         {}looked in:\n{}", rejected.iter().map(|r| format!("rejected: {r}\n")).collect::<String>(), indent(searched)
    )]
    Missing {
        /// Folders searched.
        searched: Vec<PathBuf>,
        /// Libraries found that can't be used, and why.
        rejected: Vec<String>,
    },
    /// The source has errors.
    #[error("{}", errors(diagnostics, log))]
    Source {
        /// Errors and warnings by place.
        diagnostics: Vec<Diagnostic>,
        /// The whole log.
        log: String,
    },
    /// A text or option holds a zero byte.
    #[error("{0} holds a zero byte")]
    ZeroByte(String),
    /// The architecture gives no machine code.
    #[error("NVRTC made an empty CUBIN for `{0}`: name a real architecture such as sm_90a, not a virtual one")]
    Empty(String),
    /// A call failed.
    #[error("{call} failed: {code}")]
    Call {
        /// Which.
        call: &'static str,
        /// NVRTC's name of the error.
        code: String,
    },
}

fn indent(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("  {}\n", path.display())).collect()
}

fn errors(diagnostics: &[Diagnostic], log: &str) -> String {
    let errors: Vec<String> = diagnostics.iter().filter(|d| d.error).map(Diagnostic::to_string).collect();
    if errors.is_empty() { log.to_string() } else { errors.join("\n") }
}

/// The library in use.
#[derive(Clone, Debug)]
pub struct Nvrtc {
    /// Where it lies.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

/// Finds and loads NVRTC, once for the process.
///
/// # Errors
/// [`NvrtcError::Missing`], with everything that was searched.
pub fn load() -> Result<&'static Nvrtc, NvrtcError> {
    static LOADED: OnceLock<Result<Nvrtc, NvrtcError>> = OnceLock::new();
    LOADED.get_or_init(|| load_from(discovery::folders(&|name| std::env::var_os(name)))).as_ref().map_err(NvrtcError::clone)
}

fn load_from(searched: Vec<PathBuf>) -> Result<Nvrtc, NvrtcError> {
    let mut rejected = Vec::new();
    for library in searched.iter().flat_map(|folder| discovery::libraries(folder)) {
        match open(&library) {
            Ok(version) if version >= OLDEST => return Ok(Nvrtc { path: library, version }),
            Ok(version) => rejected.push(format!("{} is version {version}", library.display())),
            Err(error) => rejected.push(format!("{}: {error}", library.display())),
        }
    }
    Err(NvrtcError::Missing { searched, rejected })
}

/// Opens the library and leaves it open: cudarc looks it up by its bare name, and finds what is loaded already.
fn open(path: &Path) -> Result<Version, libloading::Error> {
    for builtins in discovery::builtins(path) {
        // SAFETY: NVIDIA's libraries run no code on loading that depends on the state of this process.
        if let Ok(library) = unsafe { Library::open(Some(&builtins), RTLD_NOW | RTLD_GLOBAL) } {
            std::mem::forget(library);
        }
    }
    // SAFETY: as above.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the function has had this signature in every version of NVRTC.
    unsafe {
        let version = library.get::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(b"nvrtcVersion")?;
        version(&mut major, &mut minor);
    }
    let version = Version { major, minor };
    if version >= OLDEST {
        std::mem::forget(library);
    }
    Ok(version)
}

/// Compiles `source` with `headers` (name, text) for `arch`, as in `sm_90a`.
///
/// # Errors
/// See [`NvrtcError`]; the diagnostics of a source keep the file and line of its `#line` directives.
pub fn compile(source: &str, headers: &[(String, String)], arch: &str) -> Result<Cubin, NvrtcError> {
    load()?;
    let options = [
        format!("--gpu-architecture={arch}"),
        "--std=c++17".into(),
        "--generate-line-info".into(),
        "--ptxas-options=-v".into(),
        // A body that leaves a variable unused is not worth a warning at each of its instances.
        "--diag-suppress=177,550".into(),
    ];
    let options = options.iter().map(|option| c_string(option, "an option")).collect::<Result<Vec<_>, _>>()?;
    let program = Program::new(source, headers)?;
    let compiled = program.compile(&options);
    let log = program.log()?;
    if let Err(error) = compiled {
        let diagnostics = log::diagnostics(&log);
        return Err(if log.trim().is_empty() { error } else { NvrtcError::Source { diagnostics, log } });
    }
    let bytes = program.cubin()?;
    if bytes.is_empty() {
        return Err(NvrtcError::Empty(arch.into()));
    }
    Ok(Cubin { bytes, resources: log::resources(&log), log })
}

fn c_string(text: &str, what: &str) -> Result<CString, NvrtcError> {
    CString::new(text).map_err(|_| NvrtcError::ZeroByte(what.into()))
}

fn checked(call: &'static str, result: sys::nvrtcResult) -> Result<(), NvrtcError> {
    match result {
        sys::nvrtcResult::NVRTC_SUCCESS => Ok(()),
        code => Err(NvrtcError::Call { call, code: format!("{code:?}") }),
    }
}

/// An NVRTC program. It exists only after [`load`], so that cudarc finds the library.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(source: &str, headers: &[(String, String)]) -> Result<Program, NvrtcError> {
        let source = c_string(source, "the source")?;
        let names = headers.iter().map(|(name, _)| c_string(name, "a header's name")).collect::<Result<Vec<_>, _>>()?;
        let texts = headers.iter().map(|(name, text)| c_string(text, name)).collect::<Result<Vec<_>, _>>()?;
        let name_ptrs: Vec<*const c_char> = names.iter().map(|s| s.as_ptr()).collect();
        let text_ptrs: Vec<*const c_char> = texts.iter().map(|s| s.as_ptr()).collect();
        let mut program = std::ptr::null_mut();
        // SAFETY: all strings end in a zero byte and live through the call, which copies them; both arrays have as many entries
        // as it is told.
        checked("nvrtcCreateProgram", unsafe {
            sys::nvrtcCreateProgram(
                &mut program,
                source.as_ptr(),
                c"mpk.cu".as_ptr(),
                headers.len() as c_int,
                text_ptrs.as_ptr(),
                name_ptrs.as_ptr(),
            )
        })?;
        Ok(Program(program))
    }

    fn compile(&self, options: &[CString]) -> Result<(), NvrtcError> {
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is alive, the options are zero-terminated and as many as said.
        checked("nvrtcCompileProgram", unsafe { sys::nvrtcCompileProgram(self.0, options.len() as c_int, options.as_ptr()) })
    }

    fn log(&self) -> Result<String, NvrtcError> {
        let mut size = 0;
        // SAFETY: the program is alive; `size` is written.
        checked("nvrtcGetProgramLogSize", unsafe { sys::nvrtcGetProgramLogSize(self.0, &mut size) })?;
        let mut bytes = vec![0u8; size.max(1)];
        // SAFETY: the buffer has the size that was asked for.
        checked("nvrtcGetProgramLog", unsafe { sys::nvrtcGetProgramLog(self.0, bytes.as_mut_ptr().cast()) })?;
        Ok(CStr::from_bytes_until_nul(&bytes).map(|log| log.to_string_lossy().into_owned()).unwrap_or_default())
    }

    fn cubin(&self) -> Result<Vec<u8>, NvrtcError> {
        let mut size = 0;
        // SAFETY: the program is alive; `size` is written.
        checked("nvrtcGetCUBINSize", unsafe { sys::nvrtcGetCUBINSize(self.0, &mut size) })?;
        let mut bytes = vec![0u8; size];
        if size > 0 {
            // SAFETY: the buffer has the size that was asked for.
            checked("nvrtcGetCUBIN", unsafe { sys::nvrtcGetCUBIN(self.0, bytes.as_mut_ptr().cast()) })?;
        }
        Ok(bytes)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is alive and not used after this. A failure leaves nothing to do.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

#[cfg(test)]
mod tests;
