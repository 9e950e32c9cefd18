//! Fault tests of the control plane on its real storage.

mod damage;
mod failing_disk;
mod fuzz;
mod power_loss;
mod timers;
mod workload;
