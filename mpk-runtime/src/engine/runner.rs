//! The executor that an engine runs its plan on.

use std::sync::Arc;

use super::{Backend, Error, HOST_WORKERS, tensors::Weights};
use crate::cuda::driver::Device;
use crate::cuda::error::CudaError;
use crate::cuda::executor as cuda;
use crate::cuda::weights::Host;
use crate::graph::TensorId;
use crate::host;
use crate::plan::Plan;
use crate::step::{Command, Sampled, StepRows};

/// Where a plan will run: decided before it is made, since it is made for a number of workers.
pub enum Target {
    /// The CPU.
    Host,
    /// This GPU.
    Cuda(Device),
}

impl Target {
    /// The target of a backend; `Auto` falls back to the host and says why.
    ///
    /// # Errors
    /// The GPU is asked for and can't be used.
    pub fn choose(backend: Backend, ranks: usize, notices: &mut Vec<String>) -> Result<Target, Error> {
        let open = || -> Result<Device, CudaError> {
            if ranks > 1 {
                return Err(CudaError::Ranks(ranks));
            }
            Ok(Device::open()?)
        };
        match backend {
            Backend::Host => Ok(Target::Host),
            Backend::Cuda => Ok(Target::Cuda(open()?)),
            Backend::Auto => Ok(match open() {
                Ok(device) => Target::Cuda(device),
                Err(why) => {
                    notices.push(on_the_host(&why));
                    Target::Host
                }
            }),
        }
    }

    /// Workers of a rank.
    pub fn workers(&self) -> usize {
        match self {
            Target::Host => HOST_WORKERS,
            Target::Cuda(device) => device.multiprocessors,
        }
    }
}

/// The line for a user whose plan does not run on a GPU, though nobody asked for the host: why, without what would help it.
pub fn on_the_host(why: &CudaError) -> String {
    let why = why.to_string();
    let what = why.split("\nhelp: ").next().unwrap_or(&why);
    format!("running on the host: {what}")
}

/// Runs steps of a plan.
pub enum Runner {
    /// On the CPU, and the steps that a command has yet to run there.
    Host(Box<host::Executor>, Option<Command>),
    /// On a GPU.
    Cuda(Box<cuda::Executor>),
}

impl Runner {
    /// Makes `plan` ready to run with `weights`; `threads` is for the host.
    ///
    /// # Errors
    /// Memory that does not suffice, or a kernel that does not compile.
    pub fn new(target: Target, plan: Plan, weights: Arc<Weights>, threads: usize) -> Result<Runner, Error> {
        let plan = Arc::new(plan);
        Ok(match target {
            Target::Host => Runner::Host(Box::new(host::Executor::new(plan, weights, threads)?), None),
            Target::Cuda(device) => Runner::Cuda(Box::new(cuda::Executor::new(device, plan, &Host(&*weights))?)),
        })
    }

    /// `host` or `cuda`.
    pub fn name(&self) -> &'static str {
        match self {
            Runner::Host(..) => "host",
            Runner::Cuda(_) => "cuda",
        }
    }

    /// The plan it runs.
    pub fn plan(&self) -> &Plan {
        match self {
            Runner::Host(executor, _) => executor.plan(),
            Runner::Cuda(executor) => executor.plan(),
        }
    }

    /// Runs one step.
    ///
    /// # Errors
    /// The step does not come to its end.
    pub fn step(&mut self, rows: &StepRows) -> Result<(), Error> {
        match self {
            Runner::Host(executor, _) => executor.step(rows)?,
            Runner::Cuda(executor) => executor.step(rows)?,
        }
        Ok(())
    }

    /// Row `t` of a tensor after the last step.
    ///
    /// # Errors
    /// The GPU can't be read.
    pub fn row(&self, tensor: TensorId, t: usize) -> Result<Vec<f32>, Error> {
        Ok(match self {
            Runner::Host(executor, _) => executor.row(tensor, t),
            Runner::Cuda(executor) => executor.row(tensor, t)?,
        })
    }

    /// The steps that a command may have.
    pub fn most_steps(&self) -> usize {
        match self {
            Runner::Host(..) => usize::MAX,
            Runner::Cuda(executor) => executor.most_steps(),
        }
    }

    /// Begins a command; a former one is abandoned.
    ///
    /// # Errors
    /// The command is not one that the plan holds.
    pub fn start(&mut self, command: Command) -> Result<(), Error> {
        match self {
            Runner::Host(_, left) => *left = Some(command),
            Runner::Cuda(executor) => executor.start(&command)?,
        }
        Ok(())
    }

    /// The tokens that the next step of the command gives; `None` when it is complete.
    ///
    /// # Errors
    /// The step does not come to its end.
    pub fn receive(&mut self) -> Result<Option<Vec<Sampled>>, Error> {
        match self {
            Runner::Host(executor, left) => {
                let Some(command) = left.take() else { return Ok(None) };
                executor.step(&command.rows)?;
                let output = executor.plan().graph.output;
                let (sampled, next) = command.after(|t| executor.word(output, t) as u32);
                *left = next;
                Ok(Some(sampled))
            }
            Runner::Cuda(executor) => Ok(executor.receive()?),
        }
    }

    /// Ends the command, if there is one, after the step that runs.
    ///
    /// # Errors
    /// The step does not come to its end.
    pub fn abandon(&mut self) -> Result<(), Error> {
        match self {
            Runner::Host(_, left) => *left = None,
            Runner::Cuda(executor) => executor.abandon()?,
        }
        Ok(())
    }
}
