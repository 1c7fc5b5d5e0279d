//! Random weights made where they will lie: on the device, in the order in which the kernel reads them.

use bytemuck::{Pod, Zeroable};
use mpk_runtime::cuda::driver::{Device, DeviceError, Kernel, Memory};
use mpk_runtime::cuda::error::CudaError;
use mpk_runtime::cuda::executor::ARCHITECTURE;
use mpk_runtime::cuda::{nvrtc, weights};
use mpk_runtime::graph::WeightExpr;
use mpk_runtime::host::WeightError;
use mpk_runtime::plan::Packed;

use super::{Roles, Tensor};

const SOURCE: &str = include_str!("fill.cu");
const THREADS: u32 = 512;
/// As many as `__launch_bounds__` lets a multiprocessor hold.
const BLOCKS_EACH: u32 = 2;
/// Elements of a row where there are no rows: what is filled is one long run.
const RUN: usize = 4096;

/// The argument of the kernel, as `fill.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Fill {
    out: u64,
    key: u64,
    first_row: u64,
    rows: u64,
    cols: u64,
    part_rows: u64,
    scale: f32,
    mean: f32,
    fragments: u32,
    parts: u32,
}

/// The kernel that writes random tensors.
pub struct Generator {
    kernel: Kernel,
}

/// A tensor's place in a weight.
#[derive(Clone, Copy)]
struct Place {
    first_row: usize,
    rows: usize,
    cols: usize,
    fragments: bool,
    parts: usize,
    part_rows: usize,
}

impl Generator {
    /// Compiles and loads the kernel.
    ///
    /// # Errors
    /// NVRTC is missing, or the driver refuses.
    pub fn new(device: &Device) -> Result<Generator, CudaError> {
        let cubin = nvrtc::compile(SOURCE, &[], ARCHITECTURE)?;
        Ok(Generator { kernel: device.kernel(&cubin.bytes, "fill_random", 0)? })
    }

    /// Fills memory with bf16 elements, row-major, as far as whole runs of 8 KB go.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn fill(&self, device: &Device, memory: &Memory<u8>, tensor: &Tensor) -> Result<(), DeviceError> {
        self.write(
            device,
            memory,
            tensor,
            Place { first_row: 0, rows: memory.len() / 2 / RUN, cols: RUN, fragments: false, parts: 1, part_rows: RUN },
        )
    }

    fn write(&self, device: &Device, memory: &Memory<u8>, tensor: &Tensor, place: Place) -> Result<(), DeviceError> {
        let fill = Fill {
            out: memory.address(),
            key: tensor.key,
            first_row: place.first_row as u64,
            rows: place.rows as u64,
            cols: place.cols as u64,
            part_rows: place.part_rows as u64,
            scale: tensor.scale,
            mean: tensor.mean,
            fragments: place.fragments.into(),
            parts: place.parts as u32,
        };
        device.run(&self.kernel, device.multiprocessors as u32 * BLOCKS_EACH, THREADS, 0, &fill).map(|_| ())
    }
}

/// The random weights of one model.
pub struct Weights<'a> {
    /// What writes them.
    pub generator: &'a Generator,
    /// How they are distributed.
    pub roles: Roles,
    /// The seed of all tensors.
    pub seed: u32,
}

impl weights::Source for Weights<'_> {
    fn load(&self, device: &Device, weight: &WeightExpr, packed: &Packed, memory: &Memory<u8>) -> Result<(), CudaError> {
        let sources = weight.sources();
        let mut first_row = 0;
        for source in &sources {
            // Of a pair of tied weights that are not tied, a checkpoint has the first.
            let name = source.names.first().map(String::as_str).unwrap_or_default();
            let rows = source.shape.first().copied().unwrap_or(1);
            let cols: usize = source.shape.iter().skip(1).product();
            if cols != packed.cols || first_row + rows > packed.rows {
                return Err(
                    WeightError(format!("`{name}` does not stand whole in its weight: random weights are made whole")).into()
                );
            }
            let tensor = Tensor::new(name, self.seed, self.roles.of_tensor(name, &source.shape));
            let (parts, part_rows) = (packed.parts, packed.rows / packed.parts);
            let place = Place { first_row, rows, cols, fragments: packed.fragments, parts, part_rows };
            self.generator.write(device, memory, &tensor, place)?;
            first_row += rows;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_compiles() {
        match nvrtc::compile(SOURCE, &[], ARCHITECTURE) {
            Err(error @ nvrtc::NvrtcError::Missing { .. }) => eprintln!("the_generator_compiles skipped: {error}"),
            result => {
                let cubin = result.unwrap();
                assert_eq!((cubin.resources.len(), cubin.resources[0].spill_stores), (1, 0), "{}", cubin.log);
            }
        }
    }
}
