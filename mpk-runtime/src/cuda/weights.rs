//! How weights come into the memory of the device.

use half::bf16;

use super::driver::{Device, Memory};
use super::error::CudaError;
use super::pack;
use crate::graph::WeightExpr;
use crate::host::{Tensors, view};
use crate::plan::Packed;

/// Strips packed and copied at once, in elements.
const PACK_ELEMENTS: usize = 16 << 20;

/// Where the weights of a plan of one rank come from.
pub trait Source {
    /// Writes `weight` into `memory`, which has [`Packed::bytes`] bytes, all zero: in fragment order ([`pack::index`]) if `packed`
    /// says so, else element after element, in bf16.
    ///
    /// # Errors
    /// The weight can't be had, or the device can't be written.
    fn load(&self, device: &Device, weight: &WeightExpr, packed: &Packed, memory: &Memory<u8>) -> Result<(), CudaError>;
}

/// Tensors that lie in the memory of the host: they are packed there, by all cores, and copied.
pub struct Host<'a>(pub &'a dyn Tensors);

impl Source for Host<'_> {
    fn load(&self, device: &Device, weight: &WeightExpr, packed: &Packed, memory: &Memory<u8>) -> Result<(), CudaError> {
        let view = view(weight, 0, self.0)?;
        if !packed.fragments {
            let values: Vec<bf16> = (0..packed.rows).map(|i| view.row(i)[0]).collect();
            return Ok(device.write(memory, 0, bytemuck::cast_slice(&values))?);
        }
        let strip = pack::strip_len(packed.cols);
        let (all, at_once) = (packed.strips(), (PACK_ELEMENTS / strip).max(1));
        for first in (0..all).step_by(at_once) {
            let mut out = vec![bf16::ZERO; at_once.min(all - first) * strip];
            pack::pack(&|row| packed.row(row).map(|n| view.row(n)), packed.cols, first, &mut out);
            device.write(memory, first * strip * 2, bytemuck::cast_slice(&out))?;
        }
        Ok(())
    }
}
