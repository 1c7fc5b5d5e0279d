//! What the executor needs of the driver: one device, its memory, one kernel.

use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::time::Duration;

use bytemuck::Pod;
use cudarc::driver::{DriverError, result, sys};
use thiserror::Error;

/// Why nothing runs on a GPU.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DeviceError {
    /// There is no driver.
    #[error(
        "no NVIDIA driver: libcuda is not installed on this machine\nhelp: install one, or run on the host (`--backend host`)"
    )]
    NoDriver,
    /// There is no device.
    #[error("the NVIDIA driver finds no GPU\nhelp: see that `nvidia-smi` lists one, or run on the host (`--backend host`)")]
    NoDevice,
    /// The device is of another architecture.
    #[error(
        "{name} is of compute capability {major}.{minor}; the kernels are made for 9.0 (Hopper)\nhelp: run on the host (`--backend host`)"
    )]
    Architecture {
        /// The device.
        name: String,
        /// Major version.
        major: i32,
        /// Minor version.
        minor: i32,
    },
    /// Memory does not suffice.
    #[error("{what} takes {wanted} bytes of GPU memory, {free} are free: use a shorter context or a smaller model")]
    Memory {
        /// What it is for.
        what: &'static str,
        /// Bytes wanted.
        wanted: usize,
        /// Bytes free.
        free: usize,
    },
    /// A call failed.
    #[error("{call}: {message}")]
    Call {
        /// Which.
        call: &'static str,
        /// What the driver says.
        message: String,
    },
}

fn call<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, DeviceError> {
    result.map_err(|e| DeviceError::Call { call, message: e.to_string() })
}

/// The first GPU, with a stream for the kernel and one for copies beside it.
pub struct Device {
    /// Its name.
    pub name: String,
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of shared memory that a block may ask for.
    pub shared_memory: usize,
    run: sys::CUstream,
    copy: sys::CUstream,
}

// SAFETY: streams and the primary context may be used from any thread that has made the context current; every method does so.
unsafe impl Send for Device {}

impl Device {
    /// Opens the first device.
    ///
    /// # Errors
    /// No driver, no device, or one of another architecture.
    pub fn open() -> Result<Device, DeviceError> {
        // SAFETY: it only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::NoDriver);
        }
        if result::init().is_err() || result::device::get_count().unwrap_or(0) < 1 {
            return Err(DeviceError::NoDevice);
        }
        let device = call("cuDeviceGet", result::device::get(0))?;
        let name = call("cuDeviceGetName", result::device::get_name(device))?;
        use sys::CUdevice_attribute_enum as Attribute;
        // SAFETY: `device` is a device of this driver.
        let attribute = |a| call("cuDeviceGetAttribute", unsafe { result::device::get_attribute(device, a) });
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        if (major, minor) != (9, 0) {
            return Err(DeviceError::Architecture { name, major, minor });
        }
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize;
        let shared_memory = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize;
        // SAFETY: as above; the primary context stays retained for the life of the process.
        let context = call("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        // SAFETY: the context was just retained.
        call("cuCtxSetCurrent", unsafe { result::ctx::set_current(context) })?;
        let stream = || call("cuStreamCreate", result::stream::create(result::stream::StreamKind::NonBlocking));
        Ok(Device { name, multiprocessors, shared_memory, run: stream()?, copy: stream()? })
    }

    /// Bytes of memory that are free.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn free(&self) -> Result<usize, DeviceError> {
        Ok(call("cuMemGetInfo", result::mem_get_info())?.0)
    }

    /// Memory for `len` elements, every byte `fill`.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] if it does not suffice.
    pub fn memory<T: Pod>(&self, what: &'static str, len: usize, fill: u8) -> Result<Memory<T>, DeviceError> {
        let bytes = (len * size_of::<T>()).max(16);
        let free = self.free()?;
        // SAFETY: `bytes` is not zero.
        let address = unsafe { result::malloc_sync(bytes) }.map_err(|_| DeviceError::Memory { what, wanted: bytes, free })?;
        let memory = Memory { address, len, element: PhantomData };
        // SAFETY: the memory was just allocated with this size.
        call("cuMemsetD8", unsafe { result::memset_d8_sync(address, fill, bytes) })?;
        Ok(memory)
    }

    /// Memory with these elements.
    ///
    /// # Errors
    /// As [`Device::memory`].
    pub fn upload<T: Pod>(&self, what: &'static str, elements: &[T]) -> Result<Memory<T>, DeviceError> {
        let memory = self.memory(what, elements.len(), 0)?;
        self.write(&memory, 0, elements)?;
        Ok(memory)
    }

    /// Overwrites elements from `first` on; no kernel may be running.
    ///
    /// # Errors
    /// The range lies outside of the memory, or the driver refuses.
    pub fn write<T: Pod>(&self, memory: &Memory<T>, first: usize, elements: &[T]) -> Result<(), DeviceError> {
        if first + elements.len() > memory.len {
            return Err(DeviceError::Call { call: "cuMemcpyHtoD", message: "out of bounds".into() });
        }
        let to = memory.address + (first * size_of::<T>()) as u64;
        if elements.is_empty() {
            return Ok(());
        }
        // SAFETY: in bounds of a live allocation; the copy is done when the call returns.
        call("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(to, elements) })
    }

    /// Sets every byte; no kernel may be running.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn fill<T: Pod>(&self, memory: &Memory<T>, byte: u8) -> Result<(), DeviceError> {
        // SAFETY: the whole of a live allocation.
        call("cuMemsetD8", unsafe { result::memset_d8_sync(memory.address, byte, memory.len * size_of::<T>()) })
    }

    /// Reads elements while a kernel may be running: on a stream of its own.
    ///
    /// # Errors
    /// The range lies outside of the memory, or the driver refuses.
    pub fn read<T: Pod>(&self, memory: &Memory<T>, first: usize, into: &mut [T]) -> Result<(), DeviceError> {
        if first + into.len() > memory.len {
            return Err(DeviceError::Call { call: "cuMemcpyDtoH", message: "out of bounds".into() });
        }
        let from = memory.address + (first * size_of::<T>()) as u64;
        // SAFETY: in bounds of a live allocation; `into` outlives the copy, which is awaited before returning.
        call("cuMemcpyDtoHAsync", unsafe { result::memcpy_dtoh_async(into, from, self.copy) })?;
        // SAFETY: the stream is live.
        call("cuStreamSynchronize", unsafe { result::stream::synchronize(self.copy) })
    }

    /// Loads the kernel `name` of a CUBIN, allowed `shared` bytes of shared memory.
    ///
    /// # Errors
    /// The driver refuses the CUBIN.
    pub fn kernel(&self, cubin: &[u8], name: &str, shared: u32) -> Result<Kernel, DeviceError> {
        let name = CString::new(name).map_err(|e| DeviceError::Call { call: "cuModuleGetFunction", message: e.to_string() })?;
        // SAFETY: the CUBIN is a whole ELF file, as its maker checked; the driver copies it.
        let module = call("cuModuleLoadData", unsafe { result::module::load_data(cubin.as_ptr().cast()) })?;
        // SAFETY: the module was just loaded and is never unloaded.
        let function = call("cuModuleGetFunction", unsafe { result::module::get_function(module, name) })?;
        let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function was just found. With lazy loading the driver would wait for all kernels that run before it loads one.
        call("cuFuncLoad", unsafe { sys::cuFuncLoad(function).result() })?;
        // SAFETY: the function is live.
        call("cuFuncSetAttribute", unsafe { result::function::set_function_attribute(function, attribute, shared as i32) })?;
        Ok(Kernel { function })
    }

    /// Launches a kernel cooperatively with one argument; it does not wait for its end.
    ///
    /// # Errors
    /// The driver refuses, for example because not all blocks fit at once.
    pub fn launch<P: Pod>(&self, kernel: &Kernel, blocks: u32, threads: u32, shared: u32, params: &P) -> Result<(), DeviceError> {
        let mut argument = *params;
        let mut arguments = [std::ptr::from_mut(&mut argument).cast::<c_void>()];
        // SAFETY: the function takes one argument of type `P` by value, which the driver copies during the call; the memory that
        // it names lives in the executor, which awaits the kernel before it is dropped.
        call("cuLaunchCooperativeKernel", unsafe {
            result::launch_cooperative_kernel(kernel.function, (blocks, 1, 1), (threads, 1, 1), shared, self.run, &mut arguments)
        })
    }

    /// Launches a kernel as [`Device::launch`] does and awaits its end; the time that it took on the device. No other kernel may be
    /// running.
    ///
    /// # Errors
    /// As [`Device::launch`], or the kernel ends with an error.
    pub fn run<P: Pod>(
        &self,
        kernel: &Kernel,
        blocks: u32,
        threads: u32,
        shared: u32,
        params: &P,
    ) -> Result<Duration, DeviceError> {
        // Memory is filled on another stream, which the kernel's does not wait for.
        call("cuCtxSynchronize", result::ctx::synchronize())?;
        let (begin, end) = (Event::new()?, Event::new()?);
        begin.record(self.run)?;
        self.launch(kernel, blocks, threads, shared, params)?;
        end.record(self.run)?;
        end.since(&begin)
    }

    /// Waits for the end of the kernel.
    ///
    /// # Errors
    /// It ended with an error.
    pub fn wait(&self) -> Result<(), DeviceError> {
        // SAFETY: the stream is live.
        call("the kernel", unsafe { result::stream::synchronize(self.run) })
    }

    /// Whether the kernel has ended.
    ///
    /// # Errors
    /// It ended with an error.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        // SAFETY: the stream is live.
        let state = unsafe { sys::cuStreamQuery(self.run) };
        if state == sys::CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        call("the kernel", state.result()).map(|()| true)
    }
}

/// A loaded kernel.
pub struct Kernel {
    function: sys::CUfunction,
}

// SAFETY: a function handle is valid in every thread that has made its context current.
unsafe impl Send for Kernel {}

/// A point of a stream, with the time at which the device reached it.
struct Event(sys::CUevent);

impl Event {
    fn new() -> Result<Event, DeviceError> {
        call("cuEventCreate", result::event::create(sys::CUevent_flags_enum::CU_EVENT_DEFAULT)).map(Event)
    }

    fn record(&self, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: both are live.
        call("cuEventRecord", unsafe { result::event::record(self.0, stream) })
    }

    /// Awaits this event; the time from `begin`, which was recorded before on the same stream.
    fn since(&self, begin: &Event) -> Result<Duration, DeviceError> {
        // SAFETY: the event is live.
        call("cuEventSynchronize", unsafe { result::event::synchronize(self.0) })?;
        // SAFETY: both are live, recorded and reached.
        let milliseconds = call("cuEventElapsedTime", unsafe { result::event::elapsed(begin.0, self.0) })?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds) / 1e3))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by `new` and destroyed once.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

/// Device memory for elements of one type; freed when dropped.
pub struct Memory<T> {
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Memory<T> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its device address.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by `Device::memory` and freed once; the executor awaits its kernel before its memory is dropped.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// One value in pinned host memory that the device sees too.
pub struct Mapped<T> {
    host: *mut T,
    device: u64,
    len: usize,
}

// SAFETY: the memory is owned, and reached through volatile accesses only.
unsafe impl<T: Send> Send for Mapped<T> {}

impl<T: Pod> Mapped<T> {
    /// `len` zeroed values.
    ///
    /// # Errors
    /// The driver has no pinned memory left.
    pub fn new(len: usize) -> Result<Mapped<T>, DeviceError> {
        let mut host: *mut c_void = std::ptr::null_mut();
        let bytes = len * size_of::<T>();
        // SAFETY: `host` is a place for the address.
        call("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&mut host, bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP).result() })?;
        // SAFETY: just allocated with this size; page-aligned.
        unsafe { std::ptr::write_bytes(host.cast::<u8>(), 0, bytes) };
        let mut device = 0;
        // SAFETY: the memory was allocated as mapped.
        call("cuMemHostGetDevicePointer", unsafe { sys::cuMemHostGetDevicePointer_v2(&mut device, host, 0).result() })?;
        Ok(Mapped { host: host.cast(), device, len })
    }

    /// How many values it holds.
    pub fn capacity(&self) -> usize {
        self.len
    }

    /// The address for the device.
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Value `i`, or a place in it: `field` gives its address. Bounds are checked.
    ///
    /// # Panics
    /// If there is no value `i`.
    pub fn place(&self, i: usize) -> *mut T {
        assert!(i < self.len, "value {i} of {}", self.len);
        // SAFETY: in bounds by the assertion.
        unsafe { self.host.add(i) }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once, and no kernel runs any more.
        let _ = unsafe { result::free_host(self.host.cast()) };
    }
}
