//! How fast this GPU reads its memory: the floor of a step is its bytes over this.

use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use mpk_runtime::cuda::driver::{Device, Kernel};
use mpk_runtime::cuda::error::CudaError;
use mpk_runtime::cuda::executor::ARCHITECTURE;
use mpk_runtime::cuda::nvrtc;
use serde::Serialize;

use crate::random::{Generator, Tensor};

const SOURCE: &str = include_str!("ceiling.cu");
/// Threads of a block, as `ceiling.cu` says.
const PLAIN_THREADS: u32 = 1024;
const BULK_THREADS: u32 = 32;
/// Bytes of the stages of a block there.
const BULK_SHARED: u32 = 6 * 32 * 1024;
/// Bytes read: far more than the second-level cache holds.
const BYTES: usize = 16 << 30;
/// What both ways divide.
const CHUNK: usize = 128 << 10;
/// Runs whose median counts.
const RUNS: usize = 8;
/// Below this many GB/s something else is using an H200, or its memory is not what it should be.
const LEAST_H200: f64 = 4500.0;

/// The argument of the kernels, as `ceiling.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Read {
    data: u64,
    bytes: u64,
    sink: u64,
}

/// What was measured: medians, in GB/s.
#[derive(Clone, Debug, Serialize)]
pub struct Ceiling {
    /// 16-byte loads, 128 KB in flight on each multiprocessor.
    pub plain_gb_s: f64,
    /// `cp.async.bulk` of 32 KB, 6 in flight on each multiprocessor.
    pub bulk_gb_s: f64,
    /// Bytes read in a run.
    pub bytes: usize,
    /// Whether it is too low for this GPU: nothing that is measured beside it counts.
    pub void: bool,
}

impl Ceiling {
    /// Measures it over 16 GiB of random data, or over nine tenths of the memory that is free where that is less.
    ///
    /// # Errors
    /// NVRTC is missing, or the driver refuses.
    pub fn measure(device: &Device, generator: &Generator) -> Result<Ceiling, CudaError> {
        let cubin = nvrtc::compile(SOURCE, &[], ARCHITECTURE)?.bytes;
        let plain = device.kernel(&cubin, "read_plain", 0)?;
        let bulk = device.kernel(&cubin, "read_bulk", BULK_SHARED)?;
        let bytes = BYTES.min(device.free()? / 10 * 9) / CHUNK * CHUNK;
        let data = device.memory::<u8>("data to read", bytes, 0)?;
        let sink = device.memory::<u32>("data to read", 1, 0)?;
        generator.fill(device, &data, &Tensor::new("ceiling", 0, (1.0, 0.0)))?;
        let read = Read { data: data.address(), bytes: bytes as u64, sink: sink.address() };
        let rate = |kernel: &Kernel, threads: u32, shared: u32| {
            let run = || device.run(kernel, device.multiprocessors as u32, threads, shared, &read);
            // The first run only warms up.
            run()?;
            let times: Result<Vec<Duration>, _> = (0..RUNS).map(|_| run()).collect();
            Ok::<f64, CudaError>(bytes as f64 / median(times?).as_secs_f64() / 1e9)
        };
        let (plain_gb_s, bulk_gb_s) = (rate(&plain, PLAIN_THREADS, 0)?, rate(&bulk, BULK_THREADS, BULK_SHARED)?);
        let void = device.name.contains("H200") && plain_gb_s.max(bulk_gb_s) < LEAST_H200;
        Ok(Ceiling { plain_gb_s, bulk_gb_s, bytes, void })
    }

    /// The better of the two ways, in GB/s.
    pub fn gb_s(&self) -> f64 {
        self.plain_gb_s.max(self.bulk_gb_s)
    }

    /// What is wrong with it, if anything is.
    pub fn notice(&self) -> Option<String> {
        if self.void {
            return Some(format!("this run is void: a ceiling of {:.0} GB/s is under {LEAST_H200:.0} on an H200", self.gb_s()));
        }
        (self.bytes < BYTES).then(|| format!("the ceiling was measured over {} bytes: no 16 GiB of memory are free", self.bytes))
    }
}

/// The median; the mean of the middle two where there is no middle one. Zero of nothing.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    match times.len() {
        0 => Duration::ZERO,
        n => (times[(n - 1) / 2] + times[n / 2]) / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        let of = |times: &[u64]| median(times.iter().map(|t| Duration::from_nanos(*t)).collect()).as_nanos();
        assert_eq!([of(&[]), of(&[5]), of(&[9, 1, 2]), of(&[8, 1, 4, 2])], [0, 5, 2, 3]);
    }

    #[test]
    fn a_low_ceiling_is_void_on_an_h200_only() {
        let ceiling = Ceiling { plain_gb_s: 4000.0, bulk_gb_s: 4100.0, bytes: BYTES, void: true };
        assert!(ceiling.gb_s() == 4100.0 && ceiling.notice().is_some_and(|notice| notice.contains("void")));
        let short = Ceiling { void: false, bytes: CHUNK, ..ceiling.clone() };
        assert!(short.notice().is_some_and(|notice| notice.contains("131072")));
        assert_eq!(Ceiling { void: false, ..ceiling }.notice(), None);
    }

    #[test]
    fn the_kernels_compile() {
        match nvrtc::compile(SOURCE, &[], ARCHITECTURE) {
            Err(error @ nvrtc::NvrtcError::Missing { .. }) => eprintln!("the_kernels_compile skipped: {error}"),
            result => {
                let cubin = result.unwrap();
                let spills: Vec<_> = cubin.resources.iter().map(|r| r.spill_stores).collect();
                assert_eq!(spills, [0, 0], "{}", cubin.log);
            }
        }
    }
}
