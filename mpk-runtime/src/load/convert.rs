//! Reading tensors as numbers: bf16 straight from the map, everything else rounded or widened into memory.

use std::borrow::Cow;

use half::{bf16, f16};
use safetensors::Dtype;

use super::checkpoint::{Checkpoint, Tensor, TensorId};
use super::error::LoadError;

/// Bytes converted between two reports of progress.
const CHUNK: usize = 4 << 20;

impl<'a> Tensor<'a> {
    /// The tensor in bf16, row-major.
    ///
    /// BF16 is read in place. F16 and F32 are rounded to nearest even, once, into memory that lives as long as
    /// the checkpoint; [`Checkpoint::round`] does it ahead, with progress.
    ///
    /// # Errors
    /// [`LoadError::Type`] for any other type.
    pub fn bf16(&self) -> Result<&'a [bf16], LoadError> {
        if let Some(in_place) = self.in_place::<bf16>(Dtype::BF16) {
            return Ok(in_place);
        }
        self.rounded(&mut |_| ())
    }

    /// The tensor in f32, row-major: in place where the file holds F32, else widened, which is exact.
    ///
    /// # Errors
    /// [`LoadError::Type`] for types other than F32, BF16 and F16.
    pub fn f32(&self) -> Result<Cow<'a, [f32]>, LoadError> {
        if let Some(in_place) = self.in_place::<f32>(Dtype::F32) {
            return Ok(Cow::Borrowed(in_place));
        }
        let bytes = self.bytes();
        Ok(Cow::Owned(match self.dtype() {
            Dtype::F32 => each(bytes, f32::from_le_bytes).collect(),
            Dtype::BF16 => each(bytes, |b| bf16::from_le_bytes(b).to_f32()).collect(),
            Dtype::F16 => each(bytes, |b| f16::from_le_bytes(b).to_f32()).collect(),
            _ => return Err(self.not_readable_as(Dtype::F32)),
        }))
    }

    /// The bytes as `T` without a copy, if they are of that type and aligned for it.
    fn in_place<T: bytemuck::Pod>(&self, dtype: Dtype) -> Option<&'a [T]> {
        if self.dtype() != dtype || cfg!(target_endian = "big") {
            return None;
        }
        bytemuck::try_cast_slice(self.bytes()).ok()
    }

    /// The tensor rounded into memory of its own; `progress` gets the bytes read since its last call.
    fn rounded(&self, progress: &mut dyn FnMut(usize)) -> Result<&'a [bf16], LoadError> {
        let rounded = &self.record.rounded;
        if let Some(done) = rounded.get() {
            return Ok(done);
        }
        let elements = self.shape().iter().product();
        let mut values = Vec::with_capacity(elements);
        for chunk in self.bytes().chunks(CHUNK) {
            match self.dtype() {
                Dtype::F32 => {
                    values.extend(each(chunk, |b| bf16::from_f32(f32::from_le_bytes(b))));
                }
                // Every F16 is an f32, so this rounds once.
                Dtype::F16 => {
                    values.extend(each(chunk, |b| bf16::from_f32(f16::from_le_bytes(b).to_f32())));
                }
                // Only where the file has it at an odd address.
                Dtype::BF16 => values.extend(each(chunk, bf16::from_le_bytes)),
                _ => return Err(self.not_readable_as(Dtype::BF16)),
            }
            progress(chunk.len());
        }
        Ok(rounded.get_or_init(|| values))
    }

    fn not_readable_as(&self, wanted: Dtype) -> LoadError {
        LoadError::Type { path: self.file().to_owned(), tensor: self.name().to_owned(), dtype: self.dtype(), wanted }
    }
}

impl Checkpoint {
    /// Rounds those of `ids` that are not bf16 in the file, so that [`Tensor::bf16`] costs nothing afterwards.
    ///
    /// `progress` is called with the bytes read so far and their total, every few MB. Returned are lines for the
    /// user, none if there was nothing to round.
    ///
    /// # Errors
    /// [`LoadError::Type`] at the first tensor of a type that is no weight; [`Checkpoint::resolve`] has refused
    /// all of those before.
    pub fn round(&self, ids: &[TensorId], progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<String>, LoadError> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let tensors: Vec<Tensor<'_>> =
            ids.into_iter().map(|id| self.tensor(id)).filter(|tensor| tensor.in_place::<bf16>(Dtype::BF16).is_none()).collect();
        let total = tensors.iter().map(|tensor| tensor.bytes().len() as u64).sum();
        let mut done = 0;
        for tensor in &tensors {
            tensor.rounded(&mut |bytes| {
                done += bytes as u64;
                progress(done, total);
            })?;
        }
        Ok(self.notice(&tensors))
    }

    fn notice(&self, rounded: &[Tensor<'_>]) -> Vec<String> {
        let counts: Vec<String> = [Dtype::F32, Dtype::F16]
            .into_iter()
            .map(|dtype| (dtype, rounded.iter().filter(|tensor| tensor.dtype() == dtype).count()))
            .filter(|&(_, count)| count > 0)
            .map(|(dtype, count)| format!("{count} {dtype} tensor{}", if count == 1 { "" } else { "s" }))
            .collect();
        if counts.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "{}: rounded {} to BF16 (to nearest even): the kernels compute with BF16 weights",
            self.dir().display(),
            counts.join(" and ")
        )]
    }
}

/// The elements of `bytes`, each `N` bytes long and turned by `read`. The length was checked at opening.
fn each<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> impl Iterator<Item = T> {
    bytes.as_chunks::<N>().0.iter().map(move |chunk| read(*chunk))
}
