//! What runs the plan of a check.

use std::sync::Arc;

use super::Failure;
use crate::cuda::driver::Device;
use crate::cuda::error::CudaError;
use crate::cuda::executor as cuda;
use crate::cuda::weights::Host;
use crate::engine::{Backend, Error};
use crate::graph::TensorId;
use crate::host::{Executor, Tensors};
use crate::plan::Plan;
use crate::step::StepRows;

/// A plan that is being run. Values go in and out as the bytes of their elements, row-major and little-endian.
pub trait Machine {
    /// Runs one step, over outputs that are filled with NaN before.
    ///
    /// # Errors
    /// The step did not run to its end.
    fn step(&mut self, rows: &StepRows) -> Result<(), Failure>;

    /// The first `rows` rows of a tensor as `rank` has it after the last step.
    ///
    /// # Errors
    /// It can't be read.
    fn tensor(&self, rank: usize, tensor: TensorId, rows: usize) -> Result<Vec<u8>, Failure>;

    /// A state of `rank`, by its index in [`Plan::states`].
    ///
    /// # Errors
    /// It can't be read.
    fn state(&self, rank: usize, state: usize) -> Result<Vec<u8>, Failure>;

    /// Writes a state of `rank` from its beginning, between two steps.
    ///
    /// # Errors
    /// It can't be written.
    fn set_state(&mut self, rank: usize, state: usize, bytes: &[u8]) -> Result<(), Failure>;
}

/// What begins to run plans on a backend.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Ranks that a plan may have there, at most.
    pub ranks: usize,
    /// Begins to run a plan.
    pub begin: Begin,
}

/// Begins to run a plan over weights.
pub type Begin = fn(Arc<Plan>, Arc<dyn Tensors + Send>) -> Result<Box<dyn Machine>, Failure>;

/// What begins to run plans on a backend; `Auto` is the host.
///
/// # Errors
/// The GPU is asked for and can't be used.
pub fn start(backend: Backend) -> Result<Start, Error> {
    match backend {
        Backend::Host | Backend::Auto => Ok(Start { ranks: usize::MAX, begin: host }),
        Backend::Cuda => {
            Device::open().map_err(CudaError::from)?;
            Ok(Start { ranks: 1, begin: gpu })
        }
    }
}

/// Threads of the host: more than one, so that tasks meet.
const THREADS: usize = 2;

fn host(plan: Arc<Plan>, tensors: Arc<dyn Tensors + Send>) -> Result<Box<dyn Machine>, Failure> {
    let mut executor = Executor::new(plan, tensors, THREADS)?;
    executor.set_poison(true);
    Ok(Box::new(executor))
}

impl Machine for Executor {
    fn step(&mut self, rows: &StepRows) -> Result<(), Failure> {
        Ok(Executor::step(self, rows)?)
    }

    fn tensor(&self, rank: usize, tensor: TensorId, rows: usize) -> Result<Vec<u8>, Failure> {
        Ok(self.bytes(rank, tensor, rows))
    }

    fn state(&self, rank: usize, state: usize) -> Result<Vec<u8>, Failure> {
        Ok(Executor::state(self, rank, state))
    }

    fn set_state(&mut self, rank: usize, state: usize, bytes: &[u8]) -> Result<(), Failure> {
        Executor::set_state(self, rank, state, bytes);
        Ok(())
    }
}

fn gpu(plan: Arc<Plan>, tensors: Arc<dyn Tensors + Send>) -> Result<Box<dyn Machine>, Failure> {
    let device = Device::open().map_err(CudaError::from)?;
    let mut executor = cuda::Executor::new(device, plan, &Host(&*tensors))?;
    executor.set_poison(true);
    Ok(Box::new(executor))
}

/// One rank: a plan of several does not begin to run.
impl Machine for cuda::Executor {
    fn step(&mut self, rows: &StepRows) -> Result<(), Failure> {
        Ok(cuda::Executor::step(self, rows)?)
    }

    fn tensor(&self, _: usize, tensor: TensorId, rows: usize) -> Result<Vec<u8>, Failure> {
        Ok(self.bytes(tensor, rows)?)
    }

    fn state(&self, _: usize, state: usize) -> Result<Vec<u8>, Failure> {
        Ok(cuda::Executor::state(self, state)?)
    }

    fn set_state(&mut self, _: usize, state: usize, bytes: &[u8]) -> Result<(), Failure> {
        Ok(cuda::Executor::set_state(self, state, bytes)?)
    }
}
